package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// posix is an absolute path of Linux.
var posix = regexp.MustCompile(`^/(etc|tmp|var/log|usr|opt)(/|$)`)

// expansion is what Kubernetes replaces in commands before anything runs.
var expansion = regexp.MustCompile(`(\$*)\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)`)

// dollars is PowerShell's variable $$, of which one dollar is left.
var dollars = regexp.MustCompile(`(^|[^$])\$\$($|[^A-Za-z_({$?])`)

// systemDirectory is what every Windows image has.
var systemDirectory = regexp.MustCompile(`(?i)^c:[\\/]+(windows|users|program files|programdata)([\\/]|$)`)

// environment are the rules about variables, paths, and the end of containers.
func environment() []lint.Rule {
	variable := func(name, value string) string {
		return windowsPod + container + "    env:\n    - name: " + name + "\n      value: '" + value + "'\n"
	}
	shell := func(text string) string {
		return windowsPod + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:ltsc2022\n    env:\n    - name: NAME\n      value: web\n    command: [powershell, -Command, '" + text + "']\n"
	}
	return []lint.Rule{
		{
			ID: "WIN608", Severity: lint.Error, Title: "A variable that Windows itself needs", Oracle: lint.Unit,
			Doc: "The container's variables replace the image's. With a PATH of Linux, or another SystemRoot, windir or ComSpec, no program is found; TEMP and TMP have to be directories of Windows. Leave them out. Source: containerd internal/cri/server/container_create.go.",
			Bad: variable("PATH", "/usr/local/bin:/usr/bin"), Good: variable("APP_HOME", "C:/app"),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				for _, e := range c.At("env").Items() {
					v := e.At("value")
					switch name := strings.ToLower(e.At("name").Str()); {
					case name == "path" && strings.HasPrefix(v.Str(), "/"):
						p.Report(pod.Object, v, "a PATH of Linux replaces the image's: no program is found", say("take it out"))
					case slices.Contains([]string{"systemroot", "windir", "comspec"}, name) && (v.Exists() || e.At("valueFrom").Exists()):
						p.Report(pod.Object, e.At("name"), "Windows itself needs this variable as the image has it", say("take it out"))
					case (name == "temp" || name == "tmp") && strings.HasPrefix(v.Str(), "/"):
						p.Report(pod.Object, v, "no Windows image has this directory for temporary files", say(`take it out, or C:\temp`))
					}
				}
			}),
		},
		{
			ID: "WIN609", Severity: lint.Info, Title: "PowerShell that Kubernetes rewrites", Oracle: lint.Unit,
			Doc: "Before a command runs, Kubernetes replaces `$(NAME)` by the container's variable NAME and makes one dollar of two. A PowerShell expression `$(Name)` with the name of a variable, and PowerShell's own `$$`, do not arrive. Write `$$(NAME)`, and four dollars for two. Doubled dollars before a name, as in Kubernetes' own example, are left alone. Source: kubernetes.io/docs/concepts/windows/user-guide.",
			Bad: shell("Write-Host $(NAME)"), Good: shell("Write-Host $$(NAME)"),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				defined := map[string]bool{}
				for _, e := range c.At("env").Items() {
					defined[e.At("name").Str()] = true
				}
				for _, v := range append(commands(c), c.At("args")) {
					if _, name := program(v); name != "powershell" && name != "pwsh" && !slices.ContainsFunc(v.Strings(), func(s string) bool { return strings.Contains(strings.ToLower(s), "powershell") }) {
						continue
					}
					for _, item := range v.Items() {
						for _, m := range expansion.FindAllStringSubmatch(item.Str(), -1) {
							if defined[m[2]] && len(m[1])%2 == 0 {
								p.Report(pod.Object, item, fmt.Sprintf("Kubernetes replaces $(%s) before PowerShell sees it", m[2]), say(fmt.Sprintf("$$(%s), if PowerShell is meant", m[2])))
							}
						}
						if dollars.MatchString(item.Str()) {
							p.Report(pod.Object, item, "Kubernetes makes one dollar of $$ before PowerShell sees it", say("$$$$"))
						}
					}
				}
			}),
		},
		{
			ID: "WIN610", Severity: lint.Warning, Title: "A grace period that is not kept", Oracle: lint.Unit, For: lint.Target{Minor: 23, Docker: true},
			Doc: "Server Core kills its processes 5 seconds after it was asked to stop, whatever the pod's grace period, with Docker (`docker` of the configuration) and with containerd before 1.6 (`containerd`), whose hcsshim does not raise that limit yet. Upgrade, or set WaitToKillServiceTimeout in the image. Source: microsoft/Windows-Containers issue 164; microsoft/hcsshim pull 1416; which containerd first has it is our reading of the dates.",
			Bad: strings.Replace(shell("exit 0"), "  containers:\n", "  terminationGracePeriodSeconds: 60\n  containers:\n", 1), Good: shell("exit 0"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				v := pod.Spec.At("terminationGracePeriodSeconds")
				n, ok := v.Int()
				old := p.Target.Docker && !(p.Target.Minor == 0 || p.Target.Minor >= 24) || olderContainerd(p.Target, 6)
				if ok && n > 5 && n != 30 && old && slices.ContainsFunc(pod.Containers(), func(c lint.Container) bool { return !strings.Contains(c.At("image").Str(), "nanoserver") }) {
					p.Report(pod.Object, v, "Server Core kills its processes after 5 seconds with this runtime", say("newer nodes, or WaitToKillServiceTimeout in the image's registry"))
				}
			},
		},
		{
			ID: "WIN611", Severity: lint.Warning, Title: "A termination message in the system", Oracle: lint.Unit,
			Doc: "The message's file is mounted as a single file: over a directory or a file that the image has it cannot be, and with Docker (`docker` of the configuration) not at all. The default path works. Source: kubernetes.io/docs/concepts/windows/intro.",
			Bad: windowsPod + container + "    terminationMessagePath: C:\\Windows\\message.log\n", Good: windowsPod + container + "    terminationMessagePath: /dev/termination-log\n",
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				v := c.At("terminationMessagePath")
				if v.Str() != "" && v.Str() != "/dev/termination-log" && (p.Target.Docker || systemDirectory.MatchString(v.Str())) {
					p.Report(pod.Object, v, "the message's file cannot be mounted there", safe("take it out", lint.Delete(v)))
				}
			}),
		},
		{
			ID: "WIN612", Severity: lint.Error, Title: "A debug container of Linux", Oracle: lint.Unit,
			Doc: "An ephemeral container runs on the pod's own node: an image of Linux, such as the busybox of `kubectl debug`, does not start on Windows. Take one for Windows; in a HostProcess pod it has to be a HostProcess container. Source: kubernetes.io/docs/concepts/windows/intro.",
			Bad: windowsPod + container + "  ephemeralContainers:\n  - name: debugger\n    image: busybox:1.36\n", Good: windowsPod + container + "  ephemeralContainers:\n  - name: debugger\n    image: mcr.microsoft.com/windows/nanoserver:ltsc2022\n",
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				if v := c.At("image"); c.List == "ephemeralContainers" && notForWindows(p.Set, v.Str()) {
					p.Report(pod.Object, v, fmt.Sprintf("%s has no Windows platform: the debug container does not start", v.Str()), say("an image for Windows"))
				}
			}),
		},
		{
			ID: "WIN613", Severity: lint.Info, Title: "A path of Linux", Oracle: lint.Unit,
			Doc: "Go and .NET take slashes, but cmd.exe and many programs read `/etc` as an option, and the drive is whatever is current. Write a path of Windows. Source: kubernetes.io/docs/concepts/windows/intro, file paths.",
			Bad: variable("CONFIG", "/etc/app/settings.json"), Good: variable("CONFIG", "C:/app/settings.json"),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
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
						p.Report(pod.Object, v, fmt.Sprintf("%s is a path of Linux", v.Str()), say("a path of Windows, such as C:/app"))
					}
				}
			}),
		},
		{
			ID: "WIN710", Severity: lint.Warning, Title: "A deadline shorter than the first pull", Oracle: lint.Unit,
			Doc: "Images of Windows have 300 MB to over 10 GB: the first pull on a node can take longer than ten minutes. Leave progressDeadlineSeconds and activeDeadlineSeconds at 600 or more, and do not pull base images at every start. Source: kubernetes.io/docs/concepts/windows/intro, hardware.",
			Bad: deadline(120), Good: deadline(900),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				root := pod.Object.Root
				deadlines := map[string]lint.Value{"Deployment": root.At("spec", "progressDeadlineSeconds"), "Job": root.At("spec", "activeDeadlineSeconds"), "CronJob": root.At("spec", "jobTemplate", "spec", "activeDeadlineSeconds")}
				if v := deadlines[pod.Object.Kind]; v.Exists() {
					if n, ok := v.Int(); ok && n < 600 {
						p.Report(pod.Object, v, fmt.Sprintf("%d seconds: the first pull of a Windows image can take longer", n), say("600 or more"))
					}
				}
				for _, c := range pod.Containers() {

					image := c.At("image").Str()
					_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
					if v := c.At("imagePullPolicy"); v.Str() == "Always" && tag != "" && tag != "latest" && strings.HasPrefix(image, "mcr.microsoft.com/windows") {
						p.Report(pod.Object, v, "base images are large and their tags move once a month: asking the registry at every start delays it", say("IfNotPresent"))
					}
				}
			},
		},
	}
}

// olderContainerd says whether the target names a containerd before 1.minor.
func olderContainerd(t lint.Target, minor int) bool {
	var major, own int
	n, _ := fmt.Sscanf(strings.TrimPrefix(t.Containerd, "v"), "%d.%d", &major, &own)
	return n == 2 && cmp.Or(cmp.Compare(major, 1), cmp.Compare(own, minor)) < 0
}

func deadline(seconds int) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: example\nspec:\n  progressDeadlineSeconds: %d\n  template:\n    spec:\n      nodeSelector:\n        kubernetes.io/os: windows\n      containers:\n      - name: app\n        image: mcr.microsoft.com/windows/nanoserver:ltsc2022\n", seconds)
}
