package machine

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// hnsFile keeps the HNS networks that scripts created, one a line: its name and its type.
const hnsFile = `C:\ProgramData\Microsoft\Windows\HNS\casement-networks.txt`

// Types of HNS networks.
const (
	Overlay  = "Overlay"
	L2Bridge = "L2Bridge"
)

// HNSNetwork is a network of the Host Network Service.
type HNSNetwork struct {
	Name, Type string
	// CNI is set for the network that pods are on.
	CNI bool
}

// HNSEndpoint is an interface of a pod; Remote is one of another node, which kube-proxy makes for the backends of Services.
type HNSEndpoint struct {
	// Name is the pod, as NAMESPACE/NAME; empty for a remote one.
	Name   string
	IP     netip.Addr
	Remote bool
}

// HNSBalancer is what kube-proxy makes of a port of a Service.
type HNSBalancer struct {
	VIPs      []netip.Addr
	Port      uint16
	Target    uint16
	Endpoints []netip.Addr
}

// Pods shows what a node's kubelet and kube-proxy have made in the Host Network Service, and which processes are of pods.
type Pods interface {
	Endpoints() []HNSEndpoint
	Balancers() []HNSBalancer
	Processes() []PodProcess
}

// PodProcess is a process of the node that a pod has: the shim of its sandbox, or the program of a HostProcess container.
type PodProcess struct {
	ID int64
	// Name is the program without .exe, Line its command line.
	Name, Line string
	// End ends it.
	End func()
}

// PodProcesses returns the processes of the node's pods.
func (m *Machine) PodProcesses() []PodProcess {
	if m.Pods == nil {
		return nil
	}
	return m.Pods.Processes()
}

// HNSID returns the ID of an HNS object, always the same one.
func HNSID(kind, name string) string {
	h := sha1.Sum([]byte(kind + "/" + name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// cniConfig is what is read of a CNI configuration, or of a list of them.
type cniConfig struct {
	Name, Type, Mode string
	Delegate         struct{ Type string }
	Plugins          []cniConfig
}

// networks returns the networks that the plug-in of a CNI configuration creates. Calico and Flannel keep an external one for the
// machine's own traffic. Source: https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/limitations,
// https://learn.microsoft.com/virtualization/windowscontainers/kubernetes/network-topologies.
func (c cniConfig) networks() []HNSNetwork {
	if len(c.Plugins) > 0 {
		c.Plugins[0].Name = c.Name
		return c.Plugins[0].networks()
	}
	switch {
	case c.Type == "calico" && c.Mode == "windows-bgp":
		return []HNSNetwork{{Name: "External", Type: L2Bridge}, {"Calico", L2Bridge, true}}
	case c.Type == "calico":
		return []HNSNetwork{{Name: "External", Type: Overlay}, {"Calico", Overlay, true}}
	case c.Type == "azure-vnet":
		return []HNSNetwork{{"azure", L2Bridge, true}}
	case c.Type == "flannel" && c.Delegate.Type == "win-bridge":
		return []HNSNetwork{{"cbr0", L2Bridge, true}}
	case c.Type == "flannel":
		return []HNSNetwork{{Name: "External", Type: Overlay}, {"flannel.4096", Overlay, true}}
	}
	return nil
}

// HNSNetworks returns the networks of the Host Network Service by name: those that scripts created, and those of the CNI.
func (m *Machine) HNSNetworks() []HNSNetwork {
	var out []HNSNetwork
	add := func(n HNSNetwork) {
		if i := slices.IndexFunc(out, func(o HNSNetwork) bool { return o.Name == n.Name }); i >= 0 {
			out[i].CNI = out[i].CNI || n.CNI
			return
		}
		out = append(out, n)
	}
	if data, err := m.Root.ReadFile(hnsFile); err == nil {
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) > 1 {
				add(HNSNetwork{Name: f[0], Type: f[1]})
			}
		}
	}
	for _, folder := range []string{`C:\etc\cni\net.d`, `C:\k\cni\config`} {
		entries, err := m.Root.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			var c cniConfig
			data, err := m.Root.ReadFile(folder + `\` + e.Name())
			if err != nil || !strings.HasPrefix(path.Ext(e.Name()), ".conf") || json.Unmarshal(data, &c) != nil {
				continue
			}
			for _, n := range c.networks() {
				add(n)
			}
		}
	}
	slices.SortFunc(out, func(a, b HNSNetwork) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// PodNetwork returns the network that pods are on.
func (m *Machine) PodNetwork() (HNSNetwork, bool) {
	all := m.HNSNetworks()
	i := slices.IndexFunc(all, func(n HNSNetwork) bool { return n.CNI })
	if i < 0 {
		return HNSNetwork{}, false
	}
	return all[i], true
}

// HNSEndpoints returns the endpoints of the node's pods and of its Services' backends elsewhere, none without a network for them.
func (m *Machine) HNSEndpoints() []HNSEndpoint {
	if _, ok := m.PodNetwork(); !ok || m.Pods == nil {
		return nil
	}
	return m.Pods.Endpoints()
}

// HNSBalancers returns the load balancers of Services, none without a network for pods.
func (m *Machine) HNSBalancers() []HNSBalancer {
	if _, ok := m.PodNetwork(); !ok || m.Pods == nil {
		return nil
	}
	return m.Pods.Balancers()
}

// AddHNSNetwork creates a network, unless it exists.
func (m *Machine) AddHNSNetwork(name, kind string) error {
	if slices.ContainsFunc(m.HNSNetworks(), func(n HNSNetwork) bool { return n.Name == name }) {
		return nil
	}
	if err := m.Root.MkdirAll(`C:\ProgramData\Microsoft\Windows\HNS`); err != nil {
		return err
	}
	return m.Root.AppendFile(hnsFile, []byte(name+" "+kind+"\r\n"), 0o644)
}
