// Package staticpod turns the container of a kubeadm static pod into a command
// line that runs on this machine: the guest's paths become paths below its root,
// its addresses the loopback address that stands for it.
//
// It is pure and runs nothing. The local plane uses it for control planes.
package staticpod

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Mapping says where a guest's things are on this machine.
type Mapping struct {
	// Root is the directory that holds the guest's files.
	Root string
	// Address is the guest's address in its network, Loopback the one of
	// 127.0.0.0/8 that its sockets are on.
	Address, Loopback string
	// EgressConfig is the path, on this machine, of the API server's egress
	// selector configuration; empty gives none.
	EgressConfig string
}

// Flags that the API server or controller manager of older Kubernetes had and
// the embedded one has lost, with the release that dropped them.
var lost = map[string]map[string]string{
	"kube-apiserver":          {"cloud-provider": "1.33", "cloud-config": "1.33", "insecure-port": "1.24"},
	"kube-controller-manager": {"cloud-config": "1.31", "port": "1.24"},
	"kube-scheduler":          {"port": "1.24"},
}

// Feature gates that are gone, with the release that dropped them.
var lostGates = map[string]string{
	"WindowsHostProcessContainers": "1.28", "IPv6DualStack": "1.25", "TTLAfterFinished": "1.25", "CSIMigrationAzureDisk": "1.29", "CSIMigrationAzureFile": "1.30",
}

// guestFolders are the folders whose paths are moved below the root.
var guestFolders = []string{"/etc/kubernetes", "/var/lib/", "/var/log/", "/etc/ssl/azure"}

// Translate returns the command line of a static pod's container. dropped says
// which flags were left out because the embedded Kubernetes has lost them; any
// other unknown flag stays and fails as it would.
func Translate(command []string, m Mapping) (argv, dropped []string, err error) {
	if len(command) == 0 {
		return nil, nil, fmt.Errorf("the static pod's container has no command")
	}
	program := filepath.Base(command[0])
	argv = []string{program}
	for _, arg := range command[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if release, ok := lost[program][name]; ok && release != "" || program == "kube-controller-manager" && name == "cloud-provider" && value != "external" {
			dropped = append(dropped, fmt.Sprintf("--%s=%s of %s", name, value, program))
			continue
		}
		if name == "feature-gates" {
			var gone []string
			if value, gone = gates(value); len(gone) > 0 {
				dropped = append(dropped, fmt.Sprintf("feature gates %s of %s", strings.Join(gone, ","), program))
			}
			if value == "" {
				continue
			}
			arg = "--feature-gates=" + value
		}
		argv = append(argv, m.argument(program, name, value, arg))
	}
	return append(argv, m.additions(program)...), dropped, nil
}

// gates splits off the feature gates that are gone.
func gates(value string) (kept string, gone []string) {
	var keep []string
	for g := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(g, "=")
		if _, ok := lostGates[name]; ok {
			gone = append(gone, g)
		} else {
			keep = append(keep, g)
		}
	}
	return strings.Join(keep, ","), gone
}

func (m Mapping) argument(program, name, value, arg string) string {
	switch {
	case name == "advertise-address":
		return arg // objects carry the guest's address
	case program == "etcd" && strings.Contains(name, "urls") || name == "initial-cluster":
		return "--" + name + "=" + m.urls(value)
	case name == "bind-address":
		return "--bind-address=" + m.Loopback
	case name == "leader-elect":
		return "--leader-elect=false" // one of each per machine; several machines elect by the flag's default
	case name == "etcd-servers":
		return "--etcd-servers=" + m.urls(value)
	}
	for _, folder := range guestFolders {
		if strings.HasPrefix(value, folder) {
			return "--" + name + "=" + filepath.Join(m.Root, value)
		}
	}
	return arg
}

// urls puts the loopback address into URLs and drops those that become equal.
func (m Mapping) urls(value string) string {
	var out []string
	for u := range strings.SplitSeq(value, ",") {
		u = strings.ReplaceAll(strings.ReplaceAll(u, "//127.0.0.1:", "//"+m.Loopback+":"), "//"+m.Address+":", "//"+m.Loopback+":")
		if !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return strings.Join(out, ",")
}

// additions are flags that a guest on this machine needs.
func (m Mapping) additions(program string) []string {
	switch program {
	case "etcd":
		return []string{"--unsafe-no-fsync", "--log-level=warn"}
	case "kube-apiserver":
		add := []string{"--bind-address=" + m.Loopback}
		if m.EgressConfig != "" {
			add = append(add, "--egress-selector-config-file="+m.EgressConfig)
		}
		return add
	}
	return nil
}
