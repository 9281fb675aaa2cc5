package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// win601: A shell of Linux.
var win601 = lint.Rule{
	ID:       "WIN601",
	Severity: lint.Error,
	Title:    "A shell of Linux",
	Oracle:   lint.Unit,
	Doc: "Windows images have no sh, no bash and no /bin: the container or the probe fails. Write `cmd /c` or " +
		"`powershell -Command`. Source: kubernetes.io/docs/concepts/windows/intro.",
	Bad:  command(`/bin/sh, -c, "exit 0"`),
	Good: command(`cmd, /c, "exit 0"`),
	Pod:  eachProgram(checkWIN601),
}

func checkWIN601(p *lint.Pass, pod *lint.Pod, _ lint.Container, _, first lint.Value, name string) {
	if strings.HasPrefix(first.Str(), "/bin/") || strings.HasPrefix(first.Str(), "/usr/bin/") || slices.Contains([]string{"sh",
		"bash", "ash"}, name) || strings.HasSuffix(name, ".sh") {
		p.Report(pod.Object, first, fmt.Sprintf("no Windows image has %s", first.Str()), say("cmd /c, or "+
			"powershell -Command"))
	}
}

// win602: A command line in one word.
var win602 = lint.Rule{
	ID:       "WIN602",
	Severity: lint.Error,
	Title:    "A command line in one word",
	Oracle:   lint.Unit,
	Doc: "Windows looks for a program of that whole name: cannot find the file specified (0x2). Each word is an " +
		"element of its own. Source: Azure/AKS issue 1836.",
	Bad:  command(`"powershell -Command Get-Date"`),
	Good: command(`powershell, -Command, Get-Date`),
	Pod:  eachProgram(checkWIN602),
}

func checkWIN602(p *lint.Pass, pod *lint.Pod, _ lint.Container, v, first lint.Value, _ string) {
	if len(v.Items()) == 1 && strings.Contains(strings.TrimSpace(first.Str()), " "+
		"") && !strings.ContainsAny(first.Str(), `\/`) {
		fix := say("an element for each word")
		if words := strings.Fields(first.Str()); !strings.ContainsAny(first.Str(), `"'$`+"`") {
			fix = safe("an element for each word", lint.Expand(first, words...))
		}
		p.Report(pod.Object, first, "Windows looks for a program of this whole name", fix)
	}
}

// win603: A built-in command of cmd.
var win603 = lint.Rule{
	ID:       "WIN603",
	Severity: lint.Error,
	Title:    "A built-in command of cmd",
	Oracle:   lint.Unit,
	Doc: "echo, dir, type and others are part of cmd.exe and no programs. Put `cmd, /c` before them. Source: " +
		"Azure/AKS issue 1836.",
	Bad:  command(`echo, hello`),
	Good: command(`cmd, /c, echo, hello`),
	Pod:  eachProgram(checkWIN603),
}

func checkWIN603(p *lint.Pass, pod *lint.Pod, _ lint.Container, _, first lint.Value, name string) {
	if slices.Contains(builtins, name) {
		p.Report(pod.Object, first, fmt.Sprintf("%s is a part of cmd.exe and no "+
			"program", name), safe("put cmd, /c before it", lint.Expand(first, "cmd", "/c", first.Str())))
	}
}

// win604: PowerShell on Nano Server.
var win604 = lint.Rule{
	ID:       "WIN604",
	Severity: lint.Error,
	Title:    "PowerShell on Nano Server",
	Oracle:   lint.Unit,
	Doc: "Nano Server has neither PowerShell nor WMI. Source: " +
		"learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images.",
	Bad:  command(`powershell, -Command, Get-Date`),
	Good: command(`cmd, /c, date, /t`),
	Pod:  eachProgram(checkWIN604),
}

func checkWIN604(p *lint.Pass, pod *lint.Pod, c lint.Container, _, first lint.Value, name string) {
	if image := c.At("image").Str(); strings.Contains(image, "nanoserver") && !strings.Contains(image, "powershell") &&
		(name == "powershell" || name == "wmic") {
		p.Report(pod.Object, first, "Nano Server has no "+name, say("use cmd, or a Server Core image"))
	}
}

// win605: A probe that starts PowerShell.
var win605 = lint.Rule{
	ID:       "WIN605",
	Severity: lint.Warning,
	Title:    "A probe that starts PowerShell",
	Since:    20,
	Oracle:   lint.Unit,
	Doc: "Starting PowerShell can take longer than the probe's timeout, which the kubelet enforces since 1.20: pods " +
		"flap and burn CPU. Use httpGet or tcpSocket, or a timeout of 10 s. Source: kubernetes issue 94080.",
	Bad: windowsPod + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:ltsc2022\n    " +
		"livenessProbe:\n      exec:\n        command: [powershell, -Command, exit 0]\n",
	Good: windowsPod + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:ltsc2022\n    " +
		"livenessProbe:\n      timeoutSeconds: 15\n      exec:\n        command: [powershell, -Command, exit 0]\n",
	Pod: eachContainer(checkWIN605),
}

func checkWIN605(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		first, name := program(c.At(probe, "exec", "command"))
		seconds, set := c.At(probe, "timeoutSeconds").Int()
		if (name == "powershell" || name == "pwsh") && (!set || seconds < 5) {
			p.Report(pod.Object, first, "starting PowerShell alone can take longer than the probe's "+
				"timeout", say("httpGet or tcpSocket, or timeoutSeconds: 10"))
		}
	}
}

// win606: A tool of Linux.
var win606 = lint.Rule{
	ID:       "WIN606",
	Severity: lint.Warning,
	Title:    "A tool of Linux",
	Oracle:   lint.Unit,
	Doc: "Windows images lack sleep, cat, ls and the like; curl.exe and tar.exe they have. For a pause before the end " +
		"use `lifecycle.preStop.sleep` (on since 1.30). Source: kubernetes pkg/features/kube_features.go.",
	Bad:  command(`sleep, "3600"`),
	Good: command(`ping, -t, localhost`),
	Pod:  eachProgram(checkWIN606),
}

func checkWIN606(p *lint.Pass, pod *lint.Pod, c lint.Container, v, first lint.Value, name string) {
	if slices.Contains(linuxTools, name) {
		fix := say("what Windows has in its place")
		if seconds := v.Strings(); name == "sleep" && len(seconds) == 2 && p.Target.AtLeast(30) && v.Path() == c.At("lifecycle",
			"preStop", "exec", "command").Path() {
			fix = say("lifecycle.preStop.sleep: {seconds: " + seconds[1] + "}")
		}
		p.Report(pod.Object, first, "Windows images have no "+name, fix)
	}
}

// win607: Variables that differ only in case.
var win607 = lint.Rule{
	ID:       "WIN607",
	Severity: lint.Warning,
	Title:    "Variables that differ in case alone",
	Oracle:   lint.Unit,
	Doc:      "Names of environment variables have no case on Windows: one of the values is lost. Source: kubernetes issue 61778.",
	Bad:      windowsPod + container + "    env:\n    - name: Path\n      value: a\n    - name: PATH\n      value: b\n",
	Good:     windowsPod + container + "    env:\n    - name: Mode\n      value: a\n",
	Pod:      eachContainer(checkWIN607),
}

func checkWIN607(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	seen := map[string]string{}
	examine := func(name string, at lint.Value) {
		if other, ok := seen[strings.ToLower(name)]; ok && other != name {
			p.Report(pod.Object, at, fmt.Sprintf("on Windows %s is the same variable as %s: one value is "+
				"lost", name, other), say("rename one"))
		}
		seen[strings.ToLower(name)] = name
	}
	for _, from := range c.At("envFrom").Items() {
		for kind, field := range map[string]string{"ConfigMap": "configMapRef", "Secret": "secretRef"} {
			ref := from.At(field, "name")
			for _, o := range p.Set.Named(kind, pod.Object.Namespace, ref.Str()) {
				for _, f := range o.Root.At("data").Fields() {
					examine(from.At("prefix").Str()+f.Key, ref)
				}
			}
		}
	}
	for _, e := range c.At("env").Items() {
		examine(e.At("name").Str(), e.At("name"))
	}
}

// win608: A variable that Windows itself needs.
var win608 = lint.Rule{
	ID:       "WIN608",
	Severity: lint.Error,
	Title:    "A variable that Windows itself needs",
	Oracle:   lint.Unit,
	Doc: "The container's variables replace the image's. With a PATH of Linux, or another SystemRoot, windir or " +
		"ComSpec, no program is found; TEMP and TMP have to be directories of Windows. Leave them out. Source: " +
		"containerd internal/cri/server/container_create.go.",
	Bad:  withVariable("PATH", "/usr/local/bin:/usr/bin"),
	Good: withVariable("APP_HOME", "C:/app"),
	Pod:  eachContainer(checkWIN608),
}

func checkWIN608(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, e := range c.At("env").Items() {
		v := e.At("value")
		switch name := strings.ToLower(e.At("name").Str()); {
		case name == "path" && strings.HasPrefix(v.Str(), "/"):
			p.Report(pod.Object, v, "a PATH of Linux replaces the image's: no program is found", say("take it out"))
		case slices.Contains([]string{"systemroot", "windir", "comspec"}, name) && (v.Exists() || e.At("valueFrom").Exists()):
			p.Report(pod.Object, e.At("name"), "Windows itself needs this variable as the image has "+
				"it", say("take it out"))
		case (name == "temp" || name == "tmp") && strings.HasPrefix(v.Str(), "/"):
			p.Report(pod.Object, v, "no Windows image has this directory for temporary "+
				"files", say(`take it out, or C:\temp`))
		}
	}
}

// win609: PowerShell that Kubernetes rewrites.
var win609 = lint.Rule{
	ID:       "WIN609",
	Severity: lint.Info,
	Title:    "PowerShell that Kubernetes rewrites",
	Oracle:   lint.Unit,
	Doc: "Before a command runs, Kubernetes replaces `$(NAME)` by the container's variable NAME and makes one dollar " +
		"of two. A PowerShell expression `$(Name)` with the name of a variable, and PowerShell's own `$$`, do not " +
		"arrive. Write `$$(NAME)`, and four dollars for two. Doubled dollars before a name, as in Kubernetes' own " +
		"example, are left alone. Source: kubernetes.io/docs/concepts/windows/user-guide.",
	Bad:  withShell("Write-Host $(NAME)"),
	Good: withShell("Write-Host $$(NAME)"),
	Pod:  eachContainer(checkWIN609),
}

func checkWIN609(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	defined := map[string]bool{}
	for _, e := range c.At("env").Items() {
		defined[e.At("name").Str()] = true
	}
	for _, v := range append(commands(c), c.At("args")) {
		if _, name := program(v); name != "powershell" && name != "pwsh" && !slices.ContainsFunc(v.Strings(),
			func(s string) bool { return strings.Contains(strings.ToLower(s), "powershell") }) {
			continue
		}
		for _, item := range v.Items() {
			for _, m := range expansion.FindAllStringSubmatch(item.Str(), -1) {
				if defined[m[2]] && len(m[1])%2 == 0 {
					p.Report(pod.Object, item, fmt.Sprintf("Kubernetes replaces $(%s) before PowerShell "+
						"sees it", m[2]), say(fmt.Sprintf("$$(%s), if PowerShell is meant", m[2])))
				}
			}
			if dollars.MatchString(item.Str()) {
				p.Report(pod.Object, item, "Kubernetes makes one dollar of $$ before PowerShell sees it", say("$$$$"))
			}
		}
	}
}

// win610: A grace period that is not kept.
var win610 = lint.Rule{
	ID:       "WIN610",
	Severity: lint.Warning,
	Title:    "A grace period that is not kept",
	Oracle:   lint.Unit,
	For:      lint.Target{Minor: 23, Docker: true},
	Doc: "Server Core kills its processes 5 seconds after it was asked to stop, whatever the pod's grace period, with " +
		"Docker (`docker` of the configuration) and with containerd before 1.6 (`containerd`), whose hcsshim does not " +
		"raise that limit yet. Upgrade, or set WaitToKillServiceTimeout in the image. Source: " +
		"microsoft/Windows-Containers issue 164; microsoft/hcsshim pull 1416; which containerd first has it is our " +
		"reading of the dates.",
	Bad:  strings.Replace(withShell("exit 0"), "  containers:\n", "  terminationGracePeriodSeconds: 60\n  containers:\n", 1),
	Good: withShell("exit 0"),
	Pod:  checkWIN610,
}

func checkWIN610(p *lint.Pass, pod *lint.Pod) {
	v := pod.Spec.At("terminationGracePeriodSeconds")
	n, ok := v.Int()
	old := p.Target.Docker && !(p.Target.Minor == 0 || p.Target.Minor >= 24) || olderContainerd(p.Target, 6)
	if ok && n > 5 && n != 30 && old && slices.ContainsFunc(pod.Containers(),
		func(c lint.Container) bool { return !strings.Contains(c.At("image").Str(), "nanoserver") }) {
		p.Report(pod.Object, v, "Server Core kills its processes after 5 seconds with this "+
			"runtime", say("newer nodes, or WaitToKillServiceTimeout in the image's registry"))
	}
}

// win611: A termination message in the system.
var win611 = lint.Rule{
	ID:       "WIN611",
	Severity: lint.Warning,
	Title:    "A termination message in the system",
	Oracle:   lint.Unit,
	Doc: "The message's file is mounted as a single file: over a directory or a file that the image has it cannot be, " +
		"and with Docker (`docker` of the configuration) not at all. The default path works. Source: " +
		"kubernetes.io/docs/concepts/windows/intro.",
	Bad:  windowsPod + container + "    terminationMessagePath: C:\\Windows\\message.log\n",
	Good: windowsPod + container + "    terminationMessagePath: /dev/termination-log\n",
	Pod:  eachContainer(checkWIN611),
}

func checkWIN611(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	v := c.At("terminationMessagePath")
	if v.Str() != "" && v.Str() != "/dev/termination-log" && (p.Target.Docker || systemDirectory.MatchString(v.Str())) {
		p.Report(pod.Object, v, "the message's file cannot be mounted there", safe("take it out", lint.Delete(v)))
	}
}

// win612: A debug container of Linux.
var win612 = lint.Rule{
	ID:       "WIN612",
	Severity: lint.Error,
	Title:    "A debug container of Linux",
	Oracle:   lint.Unit,
	Doc: "An ephemeral container runs on the pod's own node: an image of Linux, such as the busybox of `kubectl " +
		"debug`, does not start on Windows. Take one for Windows; in a HostProcess pod it has to be a HostProcess container. " +
		"Source: kubernetes.io/docs/concepts/windows/intro.",
	Bad: windowsPod + container + "  ephemeralContainers:\n  - name: debugger\n    image: busybox:1.36\n",
	Good: windowsPod + container + "  ephemeralContainers:\n  - name: debugger\n    image: " +
		"mcr.microsoft.com/windows/nanoserver:ltsc2022\n",
	Pod: eachContainer(checkWIN612),
}

func checkWIN612(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	if v := c.At("image"); c.List == "ephemeralContainers" && notForWindows(p.Set, v.Str()) {
		p.Report(pod.Object, v, fmt.Sprintf("%s has no Windows platform: the debug container does not "+
			"start", v.Str()), say("an image for Windows"))
	}
}

// win613: A path of Linux.
var win613 = lint.Rule{
	ID:       "WIN613",
	Severity: lint.Info,
	Title:    "A path of Linux",
	Oracle:   lint.Unit,
	Doc: "Go and .NET take slashes, but cmd.exe and many programs read `/etc` as an option, and the drive is whatever " +
		"is current. Write a path of Windows. Source: kubernetes.io/docs/concepts/windows/intro, file paths.",
	Bad:  withVariable("CONFIG", "/etc/app/settings.json"),
	Good: withVariable("CONFIG", "C:/app/settings.json"),
	Pod:  eachContainer(checkWIN613),
}

func checkWIN613(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	texts := []lint.Value{c.At("workingDir")}
	for _, v := range append(commands(c), c.At("args")) {
		if items := v.Items(); len(items) > 0 {
			texts = append(texts, items[min(1, len(items)-1):]...)
		}
	}
	for _, e := range c.At("env").Items() {
		if !strings.EqualFold(e.At("name").Str(), "path") {
			texts = append(texts, e.At("value"))
		}
	}
	for _, v := range texts {
		if posix.MatchString(v.Str()) {
			p.Report(pod.Object, v, fmt.Sprintf("%s is a path of Linux", v.Str()), say("a path of "+
				"Windows, such as C:/app"))
		}
	}
}
