package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// win301: A subPath that is absolute on Windows.
var win301 = lint.Rule{
	ID:       "WIN301",
	Severity: lint.Error,
	Title:    "A subPath that is absolute on Windows",
	Oracle:   lint.Unit,
	Doc: "The API server knows slashes alone and lets `C:\\x`, `\\x` and `..\\x` through; the kubelet on Windows " +
		"refuses them when it makes the mounts. Write a relative path. Source: kubernetes " +
		"pkg/kubelet/kubelet_pods.go, makeMounts.",
	Bad:  withMount("      subPath: 'C:\\logs'\n"),
	Good: withMount("      subPath: logs\n"),
	Pod:  eachContainer(checkWIN301),
}

func checkWIN301(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, m := range c.At("volumeMounts").Items() {
		for _, key := range []string{"subPath", "subPathExpr"} {
			if v := m.At(key); outsideVolume.MatchString(v.Str()) {
				p.Report(pod.Object, v, fmt.Sprintf("the kubelet refuses %q: it is absolute or steps back "+
					"on Windows", v.Str()), say("write a path relative to the volume"))
			}
		}
	}
}

// win302: A single file as a mount.
var win302 = lint.Rule{
	ID:       "WIN302",
	Severity: lint.Warning,
	Title:    "A single file as a mount",
	Oracle:   lint.Unit,
	Doc: "Kubernetes' documentation calls subPath unsupported on Windows. With containerd a single file of a " +
		"ConfigMap or Secret does work, but it is not tested, and with Docker it fails. Mount the directory. Source: " +
		"kubernetes.io/docs/concepts/storage/windows-storage; kubernetes pkg/volume/util/subpath/subpath_windows.go.",
	Bad:  withSubPath(ofSettings),
	Good: mounted("C:/app", ofSettings),
	Pod:  eachSubPath(checkWIN302),
}

func checkWIN302(p *lint.Pass, pod *lint.Pod, v, volume lint.Value) {
	for _, kind := range []string{"configMap", "secret", "downwardAPI", "projected"} {
		if volume.At(kind).Exists() {
			p.Report(pod.Object, v, "a single file as a mount is not supported on Windows, though "+
				"containerd lets it pass", say("mount the directory"))
		}
	}
}

// win303: A subPath on a kubelet with the vulnerability that runs it as a command.
var win303 = lint.Rule{
	ID:       "WIN303",
	Severity: lint.Warning,
	Title:    "A subPath on a kubelet that runs it",
	Until:    29,
	Oracle:   lint.Unit,
	For:      lint.Target{Minor: 28, Patch: new(0)},
	Doc: "Kubelets on Windows before 1.28.1, 1.27.5, 1.26.8, 1.25.13 and 1.24.17 take a subPath into a PowerShell " +
		"command line: whoever makes pods runs commands as SYSTEM (CVE-2023-3676, CVE-2023-3955). Source: kubernetes " +
		"issues 119339 and 119595.",
	Bad:  withSubPath("    emptyDir: {}\n"),
	Good: mounted("C:/app", emptyDir),
	Pod:  eachSubPath(checkWIN303),
}

func checkWIN303(p *lint.Pass, pod *lint.Pod, v, _ lint.Value) {
	if hasDefect("CVE-2023-3676", p.Target) {
		p.Report(pod.Object, v, "this kubelet lets a subPath run commands as SYSTEM", say("upgrade the "+
			"Windows nodes"))
	}
}

// win304: An emptyDir in memory.
var win304 = lint.Rule{
	ID:       "WIN304",
	Severity: lint.Warning,
	Title:    "An emptyDir in memory",
	Oracle:   lint.Unit,
	Doc: "Windows has no tmpfs: `medium: Memory` is an ordinary directory on the disk, without a word. What was meant " +
		"for RAM is written down. Source: k8s.io/mount-utils mount_windows.go.",
	Bad:  mounted("C:/data", "    emptyDir:\n      medium: Memory\n"),
	Good: mounted("C:/data", emptyDir),
	Pod:  eachVolume(checkWIN304),
}

func checkWIN304(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if m := v.At("emptyDir", "medium"); m.Str() == "Memory" {
		p.Report(pod.Object, m, "Windows keeps it on disk: what was meant for memory is written "+
			"down", say("leave medium out, and put no secret there"))
	}
}

// win305: An emptyDir of huge pages.
var win305 = lint.Rule{
	ID:       "WIN305",
	Severity: lint.Error,
	Title:    "An emptyDir of huge pages",
	Oracle:   lint.Unit,
	Doc:      "Windows has no huge pages, and the mount fails. Source: kubernetes pkg/volume/emptydir/empty_dir.go.",
	Bad:      mounted("C:/data", "    emptyDir:\n      medium: HugePages-2Mi\n"),
	Good:     mounted("C:/data", emptyDir),
	Pod:      eachVolume(checkWIN305),
}

func checkWIN305(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if m := v.At("emptyDir", "medium"); strings.HasPrefix(m.Str(), "HugePages") {
		p.Report(pod.Object, m, "Windows has no huge pages: the mount fails", say("take it out"))
	}
}

// win306: Secrets on disk.
var win306 = lint.Rule{
	ID:       "WIN306",
	Severity: lint.Info,
	Title:    "Secrets on disk",
	Oracle:   lint.Unit,
	Doc: "Linux keeps the files of secrets and tokens in memory; Windows writes them to the node's disk in clear " +
		"text. Let icacls allow SYSTEM and Administrators alone below C:\\var\\lib\\kubelet\\pods, and encrypt the volume: " +
		"BitLocker inside, or encryption at host (securityProfile.encryptionAtHost) of the VM. The token that every pod gets is not reported. " +
		"Source: kubernetes.io/docs/concepts/security/windows-security.",
	Bad:  mounted("C:/data", "    secret:\n      secretName: example\n"),
	Good: mounted("C:/data", emptyDir),
	Pod:  eachVolume(checkWIN306),
}

func checkWIN306(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
	if strings.HasPrefix(volume.At("name").Str(), "kube-api-access-") { // the API server adds this volume
		return
	}
	at := volume.At("secret")
	for _, s := range volume.At("projected", "sources").Items() {
		if s.At("secret").Exists() || s.At("serviceAccountToken").Exists() {
			at = volume.At("projected")
		}
	}
	if at.Exists() {
		p.Report(pod.Object, at, "Windows writes its files to the node's disk, in clear "+
			"text", say(`set securityProfile.encryptionAtHost on the machines, or BitLocker (Enable-BitLocker C:); and on the node: `+
			`icacls C:\var\lib\kubelet\pods /inheritance:r /grant "*S-1-5-18:(OI)(CI)F" "*S-1-5-32-544:(OI)(CI)F"`))
	}
}

// win307: File modes.
var win307 = lint.Rule{
	ID:       "WIN307",
	Severity: lint.Warning,
	Title:    "File modes",
	Oracle:   lint.Unit,
	Doc: "UNIX modes of files do not apply on Windows. Take the mode out. Source: " +
		"kubernetes.io/docs/concepts/storage/windows-storage.",
	Bad:  withVolume("    secret:\n      secretName: example\n      defaultMode: 0400\n"),
	Good: withVolume("    secret:\n      secretName: example\n"),
	Pod:  checkWIN307,
}

func checkWIN307(p *lint.Pass, pod *lint.Pod) {
	for _, v := range pod.Spec.At("volumes").Items() {
		for _, kind := range []string{"secret", "configMap", "downwardAPI", "projected"} {
			mode := v.At(kind, "defaultMode")
			modes := []lint.Value{mode}
			for _, source := range append(v.At("projected", "sources").Items(), v) {
				for _, item := range source.At(kind, "items").Items() {
					modes = append(modes, item.At("mode"))
				}
			}
			for _, mode := range modes {
				if mode.Exists() && !slices.Contains([]string{"420", "0644", "0o644"}, mode.Str()) {
					p.Report(pod.Object, mode, "file modes do not apply on Windows", safe("take it "+
						"out", lint.Delete(mode)))
				}
			}
		}
	}
}

// win308: A raw block device.
var win308 = lint.Rule{
	ID:       "WIN308",
	Severity: lint.Error,
	Title:    "A raw block device",
	Oracle:   lint.Unit,
	Doc:      "Raw block volumes are not supported on Windows. Source: kubernetes.io/docs/concepts/windows/intro.",
	Bad:      windowsPod + container + "    volumeDevices:\n    - name: data\n      devicePath: /dev/x\n",
	Good:     mounted("C:/data", emptyDir),
	Pod:      checkWIN308,
}

func checkWIN308(p *lint.Pass, pod *lint.Pod) {
	for _, c := range pod.Containers() {
		if v := c.At("volumeDevices"); len(v.Items()) > 0 {
			p.Report(pod.Object, v, "raw block volumes are not supported on Windows", say("use a volume "+
				"with a file system"))
		}
	}
	for _, c := range claimsOf(p.Set, pod) {
		if v := c.spec.At("volumeMode"); v.Str() == "Block" {
			p.Report(c.object, v, fmt.Sprintf("raw block volumes are not supported on Windows, where %s "+
				"claims it", pod.Object), say("volumeMode: Filesystem"))
		}
	}
}

// win309: Mount propagation.
var win309 = lint.Rule{
	ID:       "WIN309",
	Severity: lint.Warning,
	Title:    "Mount propagation",
	Oracle:   lint.Unit,
	Doc: "The kubelet makes every mount private on Windows. Source: kubernetes pkg/kubelet/kubelet_pods.go, " +
		"translateMountPropagation.",
	Bad: windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: C:/data\n      " +
		"mountPropagation: HostToContainer\n  volumes:\n  - name: data\n    emptyDir: {}\n",
	Good: mounted("C:/data", emptyDir),
	Pod:  eachMount(checkWIN309),
}

func checkWIN309(p *lint.Pass, pod *lint.Pod, m lint.Value) {
	if v := m.At("mountPropagation"); v.Str() == "HostToContainer" {
		p.Report(pod.Object, v, "every mount is private on Windows", safe("None", lint.Replace(v, "None")))
	}
}

// win310: Recursive read-only mounts.
var win310 = lint.Rule{
	ID:       "WIN310",
	Severity: lint.Warning,
	Title:    "Recursive read-only mounts",
	Since:    31,
	Oracle:   lint.Unit,
	Doc: "No Windows runtime makes mounts read-only recursively: with Enabled the container is not created, " +
		"IfPossible does nothing. Write Disabled. Source: kubernetes pkg/kubelet/kubelet_pods.go, resolveRecursiveReadOnly.",
	Bad:  withMount("      readOnly: true\n      recursiveReadOnly: Enabled\n"),
	Good: withMount("      readOnly: true\n      recursiveReadOnly: Disabled\n"),
	Pod:  eachContainer(checkWIN310),
}

func checkWIN310(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, m := range c.At("volumeMounts").Items() {
		switch v := m.At("recursiveReadOnly"); v.Str() {
		case "Enabled":
			p.ReportAs(lint.Error, pod.Object, v, "the container is not created: no Windows runtime can "+
				"do this", safe("Disabled", lint.Replace(v, "Disabled")))
		case "IfPossible":
			p.Report(pod.Object, v, "never possible on Windows", safe("Disabled", lint.Replace(v, "Disabled")))
		}
	}
}

// win311: A mount over drive C:.
var win311 = lint.Rule{
	ID:       "WIN311",
	Severity: lint.Error,
	Title:    "A mount over drive C:",
	Oracle:   lint.Unit,
	Doc: "containerd refuses it: destination path can not be C drive. Source: containerd " +
		"internal/cri/opts/spec_windows_opts.go, parseMount.",
	Bad:  mounted("'C:'", emptyDir),
	Good: mounted("C:/data", emptyDir),
	Pod:  eachMount(checkWIN311),
}

func checkWIN311(p *lint.Pass, pod *lint.Pod, m lint.Value) {
	if v := m.At("mountPath"); v.Exists() && driveC.MatchString(v.Str()) {
		p.Report(pod.Object, v, "containerd refuses to mount over drive C:", say("mount below a directory"))
	}
}

// win312: A mount over files that the system needs.
var win312 = lint.Rule{
	ID:       "WIN312",
	Severity: lint.Warning,
	Title:    "A mount over what the system needs",
	Oracle:   lint.Unit,
	Doc: "A mount below C:\\Windows or C:\\Program Files hides the system's files; one on /etc, /proc, /sys, /dev or " +
		"/run has no effect, as Windows keeps such things elsewhere. Source: " +
		"kubernetes.io/docs/concepts/services-networking/windows-networking.",
	Bad:  mounted("/etc/app", emptyDir),
	Good: mounted("C:/data", emptyDir),
	Pod:  eachMount(checkWIN312),
}

func checkWIN312(p *lint.Pass, pod *lint.Pod, m lint.Value) {
	v := m.At("mountPath")
	clean := strings.ToLower(path.Clean(strings.ReplaceAll(v.Str(), `\`, "/")))
	systems := []string{"c:/windows", "c:/program files", "/etc", "/proc", "/sys", "/dev", "/run"}
	if pod.HostProcess() { // a HostProcess container sees the node's drive, where C:\etc is an ordinary directory
		systems = systems[:2]
	}
	for _, system := range systems {
		if clean == system || strings.HasPrefix(clean, system+"/") {
			p.Report(pod.Object, v, fmt.Sprintf("%s belongs to the system, or to "+
				"Linux", v.Str()), say("choose a directory of your own"))
		}
	}
}

// win313: A path of Linux nodes.
var win313 = lint.Rule{
	ID:       "WIN313",
	Severity: lint.Error,
	Title:    "A path of Linux nodes",
	Oracle:   lint.Unit,
	Doc: "Without a type, containerd makes the missing path as an empty directory on the Windows node: wrong data " +
		"without a word. With a type the check fails. Source: containerd internal/cri/opts/spec_windows_opts.go.",
	Bad:  mounted("C:/data", "    hostPath:\n      path: /var/run/docker.sock\n"),
	Good: mounted("C:/data", "    hostPath:\n      path: C:\\\\data\n"),
	Pod:  eachVolume(checkWIN313),
}

func checkWIN313(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if h := v.At("hostPath", "path"); linuxPaths.MatchString(h.Str()) && !windowsEtc.MatchString(h.Str()) {
		if kind := v.At("hostPath", "type").Str(); kind != "" && !strings.HasSuffix(kind, "OrCreate") {
			p.Report(pod.Object, h, fmt.Sprintf("no Windows node has %s: the check of its type %s fails, and the pod does not "+
				"start", h.Str(), kind), say("a path of Windows"))
			return
		}
		p.Report(pod.Object, h, fmt.Sprintf("no Windows node has %s: an empty directory is made in its "+
			"place", h.Str()), say("a path of Windows"))
	}
}

// win314: A device as hostPath.
var win314 = lint.Rule{
	ID:       "WIN314",
	Severity: lint.Error,
	Title:    "A device as hostPath",
	Oracle:   lint.Unit,
	Doc: "The check for CharDevice and BlockDevice can never pass on Windows. Source: kubernetes " +
		"pkg/volume/util/hostutil/hostutil_windows.go.",
	Bad:  mounted("C:/data", "    hostPath:\n      path: C:/x\n      type: CharDevice\n"),
	Good: mounted("C:/data", "    hostPath:\n      path: C:/x\n      type: Directory\n"),
	Pod:  eachVolume(checkWIN314),
}

func checkWIN314(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if t := v.At("hostPath", "type"); t.Str() == "CharDevice" || t.Str() == "BlockDevice" {
		p.Report(pod.Object, t, "Windows has no such devices: the check never passes", say("take it out"))
	}
}

// win315: A named pipe that is not mounted as one.
var win315 = lint.Rule{
	ID:       "WIN315",
	Severity: lint.Error,
	Title:    "A named pipe that is not mounted as one",
	Oracle:   lint.Unit,
	Doc: "A named pipe of the node maps to a named pipe of the container, so both paths begin with `\\\\.\\pipe\\`, " +
		"and the volume's type stays unset. Source: containerd internal/cri/opts/spec_windows_opts.go; hcsshim " +
		"internal/hcsoci/hcsdoc_wcow.go.",
	Bad:  pipe("C:/pipe"),
	Good: pipe(`\\.\pipe\containerd-containerd`),
	Pod:  checkWIN315,
}

func checkWIN315(p *lint.Pass, pod *lint.Pod) {
	for _, v := range pod.Spec.At("volumes").Items() {
		if !isPipe(v.At("hostPath", "path").Str()) {
			continue
		}
		if kind := v.At("hostPath", "type"); kind.Str() != "" {
			p.Report(pod.Object, kind, "a named pipe has no type that could be checked", say("leave the type out"))
		}
		for _, c := range pod.Containers() {
			for _, m := range c.At("volumeMounts").Items() {
				if at := m.At("mountPath"); m.At("name").Str() == v.At("name").Str() && !isPipe(at.Str()) {
					p.Report(pod.Object, at, "a named pipe can only be mounted as a named "+
						"pipe", say(v.At("hostPath", "path").Str()))
				}
			}
		}
	}
}

// win316: Docker's pipe.
var win316 = lint.Rule{
	ID:       "WIN316",
	Severity: lint.Info,
	Title:    "Docker's pipe",
	Since:    24,
	Oracle:   lint.Unit,
	Doc: "Nodes run containerd: Docker's pipe is not there, and what opens it fails. containerd's is " +
		"`\\\\.\\pipe\\containerd-containerd`. Charts that serve both mount both on purpose. Source: " +
		"kubernetes-sigs/cluster-api-provider-azure docs/book/src/self-managed/windows.md, DataDog/helm-charts 416.",
	Bad:  strings.ReplaceAll(pipe(`\\.\pipe\containerd-containerd`), "containerd-containerd", "docker_engine"),
	Good: pipe(`\\.\pipe\containerd-containerd`),
	Pod:  eachVolume(checkWIN316),
}

func checkWIN316(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
	if v := volume.At("hostPath", "path"); isPipe(v.Str()) && strings.Contains(v.Str(), "docker_engine") && !p.Target.Docker {
		p.Report(pod.Object, v, "nodes with containerd have no such pipe: opening it fails", say(`\\.\pipe\containerd-containerd`))
	}
}

// win317: A volume that only Linux can mount.
var win317 = lint.Rule{
	ID:       "WIN317",
	Severity: lint.Error,
	Title:    "A volume that only Linux can mount",
	Oracle:   lint.Unit,
	Doc: "The Windows mounter knows SMB alone; NFS, iSCSI and the others need Linux tools, and some are gone from " +
		"Kubernetes. Source: k8s.io/mount-utils mount_windows.go.",
	Bad:   mounted("C:/data", "    nfs:\n      server: nfs.example.com\n      path: /\n"),
	Good:  mounted("C:/data", emptyDir),
	Pod:   eachVolume(checkWIN317),
	Check: eachBacking(checkWIN317b),
}

func checkWIN317(p *lint.Pass, pod *lint.Pod, v lint.Value) { linuxSource(p, pod.Object, v) }

func checkWIN317b(p *lint.Pass, _ *lint.Pod, o *lint.Object, _, _ lint.Value) {
	linuxSource(p, o, o.Root.At("spec"))
}

// win318: Image volumes.
var win318 = lint.Rule{
	ID:       "WIN318",
	Severity: lint.Error,
	Title:    "Image volumes",
	Since:    31,
	Oracle:   lint.Unit,
	Doc: "A volume made of an image is not supported on Windows. Copy the files with an init container. Source: " +
		"kubernetes test/e2e/common/node/image_volume.go.",
	Bad:  withVolume("    image:\n      reference: registry.example/data:1\n"),
	Good: withVolume("    emptyDir: {}\n"),
	Pod:  checkWIN318,
}

func checkWIN318(p *lint.Pass, pod *lint.Pod) {
	for _, v := range pod.Spec.At("volumes").Items() {
		if image := v.At("image"); image.Exists() {
			p.Report(pod.Object, image, "image volumes are not supported on Windows", say("copy the files "+
				"with an init container"))
		}
	}
}

// win319: A common user and a token.
var win319 = lint.Rule{
	ID:       "WIN319",
	Severity: lint.Error,
	Title:    "A common user and a token",
	Until:    31,
	Oracle:   lint.Unit,
	For:      lint.Target{Minor: 30, Patch: new(8)},
	Doc: "Kubelets before 1.31.0, 1.30.9 and 1.29.13 try to give a projected token to the user that all containers " +
		"share, which Windows cannot: FailedMount, chown not supported by windows. Source: kubernetes issues 102849 " +
		"and 125040; pkg/volume/util FsUserFrom.",
	Bad:  placedPod + "  securityContext:\n    runAsUser: 1000\n" + container,
	Good: placedPod + container,
	Pod:  checkWIN319,
}

func checkWIN319(p *lint.Pass, pod *lint.Pod) {
	if !p.Target.Lacks(lint.Release{Minor: 31}, lint.Release{Minor: 30, Patch: 9}, lint.Release{Minor: 29, Patch: 13}) || !hasToken(pod) {
		return
	}
	users := map[string]bool{}
	own := pod.Spec.At("securityContext", "runAsUser")
	var at lint.Value
	for _, c := range pod.Containers() {
		v := c.At("securityContext", "runAsUser")
		if !v.Exists() {
			v = own
		}
		users[v.Str()], at = true, v
	}
	if len(users) == 1 && !users[""] {
		p.Report(pod.Object, at, "this kubelet cannot give the token's file to a user on Windows: the pod "+
			"hangs in ContainerCreating", safe("take it out; runAsUserName names a user of Windows", lint.Delete(at)))
	}
}
