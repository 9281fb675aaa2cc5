package rules

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

func mounted(mountPath, volume string) string {
	return windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: " + mountPath + "\n  volumes:\n  - name: data\n" + volume
}

const emptyDir = "    emptyDir: {}\n"

// driveC is a mount path that is the whole system drive.
var driveC = regexp.MustCompile(`^([cC]:)?[\\/]?$`)

// linuxOnly are the kinds of volumes that Windows has no client for.
var linuxOnly = []string{"nfs", "iscsi", "fc", "cephfs", "rbd", "glusterfs", "gitRepo", "flocker", "quobyte", "scaleIO", "storageos", "portworxVolume"}

// linuxPaths are what only a Linux node has.
var linuxPaths = regexp.MustCompile(`^/(var/run/docker\.sock|proc|sys|dev|etc|lib/modules)(/|$)`)

// windowsEtc are directories below /etc that kubeadm and the CNI have on Windows too,
// as C:\etc\kubernetes and C:\etc\cni.
var windowsEtc = regexp.MustCompile(`^/etc/(kubernetes|cni)(/|$)`)

// volumes are the rules about storage.
func volumes() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN304", Severity: lint.Warning, Title: "An emptyDir in memory", Oracle: lint.Unit,
			Doc: "Windows has no tmpfs: `medium: Memory` is an ordinary directory on the disk, without a word. What was meant for RAM is written down. Source: k8s.io/mount-utils mount_windows.go.",
			Bad: mounted("C:/data", "    emptyDir:\n      medium: Memory\n"), Good: mounted("C:/data", emptyDir),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if m := v.At("emptyDir", "medium"); m.Str() == "Memory" {
					p.Report(pod.Object, m, "Windows keeps it on disk: what was meant for memory is written down", say("leave medium out, and put no secret there"))
				}
			}),
		},
		{
			ID: "WIN305", Severity: lint.Error, Title: "An emptyDir of huge pages", Oracle: lint.Unit,
			Doc: "Windows has no huge pages, and the mount fails. Source: kubernetes pkg/volume/emptydir/empty_dir.go.",
			Bad: mounted("C:/data", "    emptyDir:\n      medium: HugePages-2Mi\n"), Good: mounted("C:/data", emptyDir),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if m := v.At("emptyDir", "medium"); strings.HasPrefix(m.Str(), "HugePages") {
					p.Report(pod.Object, m, "Windows has no huge pages: the mount fails", say("take it out"))
				}
			}),
		},
		{
			ID: "WIN308", Severity: lint.Error, Title: "A raw block device", Oracle: lint.Unit,
			Doc: "Raw block volumes are not supported on Windows. Source: kubernetes.io/docs/concepts/windows/intro.",
			Bad: windowsPod + container + "    volumeDevices:\n    - name: data\n      devicePath: /dev/x\n", Good: mounted("C:/data", emptyDir),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, c := range pod.Containers() {
					if v := c.At("volumeDevices"); len(v.Items()) > 0 {
						p.Report(pod.Object, v, "raw block volumes are not supported on Windows", say("use a volume with a file system"))
					}
				}
				for _, c := range claimsOf(p.Set, pod) {
					if v := c.spec.At("volumeMode"); v.Str() == "Block" {
						p.Report(c.object, v, fmt.Sprintf("raw block volumes are not supported on Windows, where %s claims it", pod.Object), say("volumeMode: Filesystem"))
					}
				}
			},
		},
		{
			ID: "WIN309", Severity: lint.Warning, Title: "Mount propagation", Oracle: lint.Unit,
			Doc: "The kubelet makes every mount private on Windows. Source: kubernetes pkg/kubelet/kubelet_pods.go, translateMountPropagation.",
			Bad: windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: C:/data\n      mountPropagation: HostToContainer\n  volumes:\n  - name: data\n    emptyDir: {}\n", Good: mounted("C:/data", emptyDir),
			Pod: eachMount(func(p *lint.Pass, pod *lint.Pod, m lint.Value) {
				if v := m.At("mountPropagation"); v.Str() == "HostToContainer" {
					p.Report(pod.Object, v, "every mount is private on Windows", safe("None", lint.Replace(v, "None")))
				}
			}),
		},
		{
			ID: "WIN311", Severity: lint.Error, Title: "A mount over drive C:", Oracle: lint.Unit,
			Doc: "containerd refuses it: destination path can not be C drive. Source: containerd internal/cri/opts/spec_windows_opts.go, parseMount.",
			Bad: mounted("'C:'", emptyDir), Good: mounted("C:/data", emptyDir),
			Pod: eachMount(func(p *lint.Pass, pod *lint.Pod, m lint.Value) {
				if v := m.At("mountPath"); v.Exists() && driveC.MatchString(v.Str()) {
					p.Report(pod.Object, v, "containerd refuses to mount over drive C:", say("mount below a directory"))
				}
			}),
		},
		{
			ID: "WIN312", Severity: lint.Warning, Title: "A mount over what the system needs", Oracle: lint.Unit,
			Doc: "A mount below C:\\Windows or C:\\Program Files hides the system's files; one on /etc, /proc, /sys, /dev or /run has no effect, as Windows keeps such things elsewhere. Source: kubernetes.io/docs/concepts/services-networking/windows-networking.",
			Bad: mounted("/etc/app", emptyDir), Good: mounted("C:/data", emptyDir),
			Pod: eachMount(func(p *lint.Pass, pod *lint.Pod, m lint.Value) {
				v := m.At("mountPath")
				clean := strings.ToLower(path.Clean(strings.ReplaceAll(v.Str(), `\`, "/")))
				systems := []string{"c:/windows", "c:/program files", "/etc", "/proc", "/sys", "/dev", "/run"}
				if pod.HostProcess() { // it sees the node's drive, where C:\etc is a directory like others
					systems = systems[:2]
				}
				for _, system := range systems {
					if clean == system || strings.HasPrefix(clean, system+"/") {
						p.Report(pod.Object, v, fmt.Sprintf("%s belongs to the system, or to Linux", v.Str()), say("choose a directory of your own"))
					}
				}
			}),
		},
		{
			ID: "WIN313", Severity: lint.Error, Title: "A path of Linux nodes", Oracle: lint.Unit,
			Doc: "Without a type, containerd makes the missing path as an empty directory on the Windows node: wrong data without a word. With a type the check fails. Source: containerd internal/cri/opts/spec_windows_opts.go.",
			Bad: mounted("C:/data", "    hostPath:\n      path: /var/run/docker.sock\n"), Good: mounted("C:/data", "    hostPath:\n      path: C:\\\\data\n"),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if h := v.At("hostPath", "path"); linuxPaths.MatchString(h.Str()) && !windowsEtc.MatchString(h.Str()) {
					p.Report(pod.Object, h, fmt.Sprintf("no Windows node has %s: an empty directory is made in its place", h.Str()), say("a path of Windows"))
				}
			}),
		},
		{
			ID: "WIN314", Severity: lint.Error, Title: "A device as hostPath", Oracle: lint.Unit,
			Doc: "The check for CharDevice and BlockDevice can never pass on Windows. Source: kubernetes pkg/volume/util/hostutil/hostutil_windows.go.",
			Bad: mounted("C:/data", "    hostPath:\n      path: C:/x\n      type: CharDevice\n"), Good: mounted("C:/data", "    hostPath:\n      path: C:/x\n      type: Directory\n"),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if t := v.At("hostPath", "type"); t.Str() == "CharDevice" || t.Str() == "BlockDevice" {
					p.Report(pod.Object, t, "Windows has no such devices: the check never passes", say("take it out"))
				}
			}),
		},
		{
			ID: "WIN317", Severity: lint.Error, Title: "A volume that only Linux can mount", Oracle: lint.Unit,
			Doc: "The Windows mounter knows SMB alone; NFS, iSCSI and the others need Linux tools, and some are gone from Kubernetes. Source: k8s.io/mount-utils mount_windows.go.",
			Bad: mounted("C:/data", "    nfs:\n      server: nfs.example.com\n      path: /\n"), Good: mounted("C:/data", emptyDir),
			Pod:   eachVolume(func(p *lint.Pass, pod *lint.Pod, v lint.Value) { linuxSource(p, pod.Object, v) }),
			Check: eachBacking(func(p *lint.Pass, _ *lint.Pod, o *lint.Object, _, _ lint.Value) { linuxSource(p, o, o.Root.At("spec")) }),
		},
	}
}

// linuxSource finds what only Linux can mount.
func linuxSource(p *lint.Pass, o *lint.Object, source lint.Value) {
	for _, f := range source.Fields() {
		if slices.Contains(linuxOnly, f.Key) {
			p.Report(o, f.Value, fmt.Sprintf("Windows cannot mount %s volumes", f.Key), say("use SMB, Azure Files or a CSI driver that has a Windows node plugin"))
		}
	}
}

func eachVolume(check func(p *lint.Pass, pod *lint.Pod, volume lint.Value)) func(*lint.Pass, *lint.Pod) {
	return func(p *lint.Pass, pod *lint.Pod) {
		for _, v := range pod.Spec.At("volumes").Items() {
			check(p, pod, v)
		}
	}
}

func eachMount(check func(p *lint.Pass, pod *lint.Pod, mount lint.Value)) func(*lint.Pass, *lint.Pod) {
	return eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
		for _, m := range c.At("volumeMounts").Items() {
			check(p, pod, m)
		}
	})
}
