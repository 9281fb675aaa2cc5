package rules

import (
	"fmt"
	"regexp"
	"slices"

	"casement.dev/casement/internal/lint"
)

func mounted(mountPath, volume string) string {
	return windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: " + mountPath +
		"\n  volumes:\n  - name: data\n" + volume
}

const emptyDir = "    emptyDir: {}\n"

// driveC matches a mount path that is the whole system drive.
var driveC = regexp.MustCompile(`^([cC]:)?[\\/]?$`)

// linuxOnly are the kinds of volumes for which Windows has no client.
var linuxOnly = []string{"nfs", "iscsi", "fc", "cephfs", "rbd", "glusterfs", "gitRepo", "flocker", "quobyte", "scaleIO",
	"storageos", "portworxVolume"}

// linuxPaths matches paths that only exist on Linux nodes: the directories below the root that the Filesystem Hierarchy
// Standard names. /opt and /var also exist on Windows nodes, as C:\opt and C:\var, so only the parts of /var that
// belong to Linux's system and runtimes are included.
var linuxPaths = regexp.MustCompile(`^/(proc|sys|dev|etc|bin|sbin|lib|lib32|lib64|boot|root|home|media|mnt|run|srv|usr|` +
	`var/(run|cache|spool|lock|mail|tmp|crash)|var/lib/(docker|containerd|containers|crio|dbus|systemd|cni|dockershim|rancher))(/|$)`)

// windowsEtc matches directories below /etc that kubeadm and the CNI also use on Windows, as C:\etc\kubernetes and C:\etc\cni.
var windowsEtc = regexp.MustCompile(`^/etc/(kubernetes|cni)(/|$)`)

// linuxSource reports volume sources that only Linux can mount.
func linuxSource(p *lint.Pass, o *lint.Object, source lint.Value) {
	for _, f := range source.Fields() {
		if slices.Contains(linuxOnly, f.Key) {
			p.Report(o, f.Value, fmt.Sprintf("Windows cannot mount %s volumes", f.Key),
				say("use SMB, Azure Files or a CSI driver that has a Windows node plugin"))
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
