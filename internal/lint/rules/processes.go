package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// builtins are commands of cmd.exe that are no programs.
var builtins = strings.Fields("dir echo type copy del set if mkdir md cd move ver exit rem call ren rmdir rd start cls for")

// linuxTools are programs that Windows images do not have; curl and tar they do.
var linuxTools = strings.Fields("sleep cat ls touch kill test true false wget nc env grep sed awk chmod chown ln rm cp mv head tail")

// commands are where a container names a program.
func commands(c lint.Container) []lint.Value {
	out := []lint.Value{c.At("command")}
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		out = append(out, c.At(probe, "exec", "command"))
	}
	return append(out, c.At("lifecycle", "postStart", "exec", "command"), c.At("lifecycle", "preStop", "exec", "command"))
}

// program is the first word of a command, as Windows would look for it.
func program(v lint.Value) (first lint.Value, name string) {
	items := v.Items()
	if len(items) == 0 {
		return lint.Value{}, ""
	}
	base := path.Base(strings.ReplaceAll(items[0].Str(), `\`, "/"))
	return items[0], strings.TrimSuffix(strings.ToLower(base), ".exe")
}

func command(words string) string { return windowsPod + container + "    command: [" + words + "]\n" }

// processes are the rules about what runs in containers.
func processes() []lint.Rule {
	each := func(check func(p *lint.Pass, pod *lint.Pod, c lint.Container, command, first lint.Value, name string)) func(*lint.Pass, *lint.Pod) {
		return eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
			for _, v := range commands(c) {
				if first, name := program(v); name != "" {
					check(p, pod, c, v, first, name)
				}
			}
		})
	}
	return []lint.Rule{
		{
			ID: "WIN601", Severity: lint.Error, Title: "A shell of Linux", Oracle: lint.Unit,
			Doc: "Windows images have no sh, no bash and no /bin: the container or the probe fails. Write `cmd /c` or `powershell -Command`. Source: kubernetes.io/docs/concepts/windows/intro.",
			Bad: command(`/bin/sh, -c, "exit 0"`), Good: command(`cmd, /c, "exit 0"`),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, _ lint.Container, _, first lint.Value, name string) {
				if strings.HasPrefix(first.Str(), "/bin/") || strings.HasPrefix(first.Str(), "/usr/bin/") || slices.Contains([]string{"sh", "bash", "ash"}, name) || strings.HasSuffix(name, ".sh") {
					p.Report(pod.Object, first, fmt.Sprintf("no Windows image has %s", first.Str()), say("cmd /c, or powershell -Command"))
				}
			}),
		},
		{
			ID: "WIN602", Severity: lint.Error, Title: "A command line in one word", Oracle: lint.Unit,
			Doc: "Windows looks for a program of that whole name: cannot find the file specified (0x2). Each word is an element of its own. Source: Azure/AKS issue 1836.",
			Bad: command(`"powershell -Command Get-Date"`), Good: command(`powershell, -Command, Get-Date`),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, _ lint.Container, v, first lint.Value, _ string) {
				if len(v.Items()) == 1 && strings.Contains(strings.TrimSpace(first.Str()), " ") && !strings.ContainsAny(first.Str(), `\/`) {
					fix := say("an element for each word")
					if words := strings.Fields(first.Str()); !strings.ContainsAny(first.Str(), `"'$`+"`") {
						fix = safe("an element for each word", lint.Expand(first, words...))
					}
					p.Report(pod.Object, first, "Windows looks for a program of this whole name", fix)
				}
			}),
		},
		{
			ID: "WIN603", Severity: lint.Error, Title: "A built-in command of cmd", Oracle: lint.Unit,
			Doc: "echo, dir, type and others are part of cmd.exe and no programs. Put `cmd, /c` before them. Source: Azure/AKS issue 1836.",
			Bad: command(`echo, hello`), Good: command(`cmd, /c, echo, hello`),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, _ lint.Container, _, first lint.Value, name string) {
				if slices.Contains(builtins, name) {
					p.Report(pod.Object, first, fmt.Sprintf("%s is a part of cmd.exe and no program", name), safe("put cmd, /c before it", lint.Expand(first, "cmd", "/c", first.Str())))
				}
			}),
		},
		{
			ID: "WIN604", Severity: lint.Error, Title: "PowerShell on Nano Server", Oracle: lint.Unit,
			Doc: "Nano Server has neither PowerShell nor WMI. Source: learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images.",
			Bad: command(`powershell, -Command, Get-Date`), Good: command(`cmd, /c, date, /t`),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, c lint.Container, _, first lint.Value, name string) {
				if image := c.At("image").Str(); strings.Contains(image, "nanoserver") && !strings.Contains(image, "powershell") && (name == "powershell" || name == "wmic") {
					p.Report(pod.Object, first, "Nano Server has no "+name, say("use cmd, or a Server Core image"))
				}
			}),
		},
		{
			ID: "WIN605", Severity: lint.Warning, Title: "A probe that starts PowerShell", Since: 20, Oracle: lint.Unit,
			Doc: "Starting PowerShell can take longer than the probe's timeout, which the kubelet enforces since 1.20: pods flap and burn CPU. Use httpGet or tcpSocket, or a timeout of 10 s. Source: kubernetes issue 94080.",
			Bad: windowsPod + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:ltsc2022\n    livenessProbe:\n      exec:\n        command: [powershell, -Command, exit 0]\n", Good: windowsPod + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:ltsc2022\n    livenessProbe:\n      timeoutSeconds: 15\n      exec:\n        command: [powershell, -Command, exit 0]\n",
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
					first, name := program(c.At(probe, "exec", "command"))
					seconds, set := c.At(probe, "timeoutSeconds").Int()
					if (name == "powershell" || name == "pwsh") && (!set || seconds < 5) {
						p.Report(pod.Object, first, "starting PowerShell alone can take longer than the probe's timeout", say("httpGet or tcpSocket, or timeoutSeconds: 10"))
					}
				}
			}),
		},
		{
			ID: "WIN606", Severity: lint.Warning, Title: "A tool of Linux", Oracle: lint.Unit,
			Doc: "Windows images lack sleep, cat, ls and the like; curl.exe and tar.exe they have. For a pause before the end use `lifecycle.preStop.sleep` (on since 1.30). Source: kubernetes pkg/features/kube_features.go.",
			Bad: command(`sleep, "3600"`), Good: command(`ping, -t, localhost`),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, c lint.Container, v, first lint.Value, name string) {
				if slices.Contains(linuxTools, name) {
					fix := say("what Windows has in its place")
					if seconds := v.Strings(); name == "sleep" && len(seconds) == 2 && p.Target.AtLeast(30) && v.Path() == c.At("lifecycle", "preStop", "exec", "command").Path() {
						fix = say("lifecycle.preStop.sleep: {seconds: " + seconds[1] + "}")
					}
					p.Report(pod.Object, first, "Windows images have no "+name, fix)
				}
			}),
		},
		{
			ID: "WIN607", Severity: lint.Warning, Title: "Variables that differ in case alone", Oracle: lint.Unit,
			Doc: "Names of environment variables have no case on Windows: one of the values is lost. Source: kubernetes issue 61778.",
			Bad: windowsPod + container + "    env:\n    - name: Path\n      value: a\n    - name: PATH\n      value: b\n", Good: windowsPod + container + "    env:\n    - name: Mode\n      value: a\n",
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				seen := map[string]string{}
				look := func(name string, at lint.Value) {
					if other, ok := seen[strings.ToLower(name)]; ok && other != name {
						p.Report(pod.Object, at, fmt.Sprintf("on Windows %s is the same variable as %s: one value is lost", name, other), say("rename one"))
					}
					seen[strings.ToLower(name)] = name
				}
				for _, from := range c.At("envFrom").Items() {
					for kind, field := range map[string]string{"ConfigMap": "configMapRef", "Secret": "secretRef"} {
						ref := from.At(field, "name")
						for _, o := range p.Set.Named(kind, pod.Object.Namespace, ref.Str()) {
							for _, f := range o.Root.At("data").Fields() {
								look(from.At("prefix").Str()+f.Key, ref)
							}
						}
					}
				}
				for _, e := range c.At("env").Items() {
					look(e.At("name").Str(), e.At("name"))
				}
			}),
		},
	}
}
