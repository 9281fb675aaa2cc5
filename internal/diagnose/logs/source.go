// Package logs reads the logs that explain why a machine is not a working node: the logs of its boot agent, kubelet,
// containerd, kube-proxy and CNI, on Windows the state of the Host Network Service, and on a control plane the logs of
// its static pods. It reads them over SSH or, if that fails, through the kubelet's own log endpoint. Secrets are
// removed from every line. It does not interpret the logs. The command line imports it.
package logs

import (
	"fmt"
	"slices"
	"strings"
)

// Source is one kind of log of a machine.
type Source struct {
	// Name is the name of the source on the command line.
	Name string
	// Linux and Windows are the places of the log on each OS.
	Linux, Windows Place
	// ControlPlane is true for a log that only control plane machines have, so that it is not reported as missing on others.
	ControlPlane bool
}

// Place is the location of a log on a machine; the zero Place means that the OS has no such log.
type Place struct {
	// Unit is a systemd unit, whose journal is the log.
	Unit string
	// Files are globs of files, with slashes; on Windows they begin with a drive.
	Files []string
	// Command is a command that prints a state that is not stored in a file.
	Command string
}

func (p Place) empty() bool { return p.Unit == "" && len(p.Files) == 0 && p.Command == "" }

// Boot is the source of the boot agent's logs.
const Boot = "boot"

// pods returns the log files of pods, on either OS: on Windows they are on C:.
func pods(names ...string) []string {
	var out []string
	for _, n := range names {
		out = append(out, "/var/log/pods/"+n+"/*/*.log")
	}
	return out
}

// onC returns Linux paths as paths on drive C:, where a kubelet on Windows has them.
func onC(files []string, more ...string) []string {
	var out []string
	for _, f := range files {
		out = append(out, "C:"+f)
	}
	return append(out, more...)
}

// Sources returns all sources, in the order in which the components start on a node.
func Sources() []Source {
	kubeProxy := pods("kube-system_kube-proxy-*")
	cni := append(pods("calico-system_calico-node-*", "kube-system_calico-node-*", "kube-flannel_kube-flannel-*",
		"kube-system_kube-flannel-*"), "/var/log/calico/cni/cni.log")
	return []Source{
		{Name: Boot, Linux: Place{Files: []string{"/var/log/cloud-init.log", "/var/log/cloud-init-output.log"}},
			Windows: Place{Files: []string{"C:/Program Files/Cloudbase Solutions/Cloudbase-Init/log/cloudbase-init*.log"}}},
		{Name: "kubelet", Linux: Place{Unit: "kubelet"}, Windows: Place{Files: []string{"C:/var/log/kubelet/*.log"}}},
		// On Windows containerd logs to ETW; the containerd-logger add-on writes the log in its pods.
		{Name: "containerd", Linux: Place{Unit: "containerd"},
			Windows: Place{Files: onC(pods("kube-system_containerd-logger-*"), "C:/var/log/containerd/*.log",
				"C:/ProgramData/containerd/root/panic.log")}},
		{Name: "kube-proxy", Linux: Place{Files: kubeProxy}, Windows: Place{Files: onC(kubeProxy)}},
		{Name: "cni", Linux: Place{Files: cni}, Windows: Place{Files: onC(cni, "C:/cni.log")}},
		{Name: "hns", Windows: Place{Command: "hnsdiag list networks"}},
		static("etcd"), static("kube-apiserver"), static("kube-controller-manager"), static("kube-scheduler"),
	}
}

// static returns the source of a static pod of kubeadm's control plane.
func static(name string) Source {
	return Source{Name: name, Linux: Place{Files: pods("kube-system_" + name + "-*")}, ControlPlane: true}
}

// aliases are other names of sources.
var aliases = map[string]string{"cloud-init": Boot, "cloudbase-init": Boot}

// Choose returns the named sources that a machine with the OS has; all its sources if names is empty.
func Choose(names []string, windows bool) ([]Source, error) {
	all := Sources()
	var known, have []string
	var out []Source
	for _, s := range all {
		known = append(known, s.Name)
	}
	for _, n := range names {
		if a, ok := aliases[n]; ok {
			n = a
		}
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("%q is no log; there are: %s", n, strings.Join(known, ", "))
		}
		have = append(have, n)
	}
	for _, s := range all {
		asked := slices.Contains(have, s.Name)
		if (len(names) == 0 || asked) && !s.at(windows).empty() {
			s.ControlPlane = s.ControlPlane && !asked // report a missing log only if the user asked for it
			out = append(out, s)
		}
	}
	return out, nil
}

func (s Source) at(windows bool) Place {
	if windows {
		return s.Windows
	}
	return s.Linux
}
