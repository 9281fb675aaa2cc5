package machine

import (
	"cmp"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/windows"
)

// hnsFile stores the HNS networks that scripts created. Each line has the name and type of a network, and the prefix,
// gateway and VSID of its subnet, if it has one.
const hnsFile = `C:\ProgramData\Microsoft\Windows\HNS\casement-networks.txt`

// Types of HNS networks.
const (
	Overlay  = "Overlay"
	L2Bridge = "L2Bridge"
)

// HNSNetwork is a network of the Host Network Service.
type HNSNetwork struct {
	Name, Type string
	// CNI is set for the network of the pods.
	CNI bool
	// Subnets are the address ranges of the network.
	Subnets []HNSSubnet
	// Endpoint has the settings that the CNI gives each endpoint on the network.
	Endpoint HNSPolicy
}

// HNSSubnet is a range of addresses of a network.
type HNSSubnet struct {
	Prefix  netip.Prefix
	Gateway netip.Addr
	// VSID is the number of the overlay network; 0 for a network without overlay.
	VSID int
}

// HNSPolicy has the settings for endpoints in a CNI configuration.
type HNSPolicy struct {
	DNS, Search []string
	// Policies are JSON objects from the configuration.
	Policies [][]byte
}

// HNSEndpoint is an interface of a pod. Remote is set for an interface on another node, which kube-proxy creates for
// the backends of Services.
type HNSEndpoint struct {
	// Name is the pod, as NAMESPACE/NAME; empty for a remote endpoint.
	Name   string
	IP     netip.Addr
	Remote bool
}

// HNSBalancer is the load balancing policy that kube-proxy creates for a port of a Service.
type HNSBalancer struct {
	VIPs      []netip.Addr
	Port      uint16
	Target    uint16
	Endpoints []netip.Addr
}

// Pods returns the objects of a node's kubelet and kube-proxy in the Host Network Service, and the
// processes of pods.
type Pods interface {
	Endpoints() []HNSEndpoint
	Balancers() []HNSBalancer
	Processes() []PodProcess
	// Ranges returns the address ranges of the pods; none if the CNI uses addresses of the virtual network.
	Ranges() []netip.Prefix
}

// PodProcess is a process of a pod on the node: the shim of its sandbox, or the program of a HostProcess container.
type PodProcess struct {
	ID int64
	// Name is the program without .exe, and Line its command line.
	Name, Line string
	// End ends the process.
	End func()
}

// PodProcesses returns the processes of the node's pods.
func (m *Machine) PodProcesses() []PodProcess {
	if m.Pods == nil {
		return nil
	}
	return m.Pods.Processes()
}

// HNSID returns the ID of an HNS object; the same object always has the same ID.
func HNSID(kind, name string) string {
	h := sha1.Sum([]byte(kind + "/" + name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// cniConfig has the fields of a CNI configuration, or of a list of configurations, that this package reads.
type cniConfig struct {
	Name, Type, Mode string
	VNI              int `json:"vxlan_vni"`
	Delegate         *cniConfig
	Plugins          []cniConfig
	DNS              struct{ Nameservers, Search []string }
	// Policies and AdditionalArgs hold pairs of a kind and a policy: Kubernetes' plug-ins use the first field,
	// Azure's the second.
	Policies, AdditionalArgs []struct {
		Name  string
		Value json.RawMessage
	}
}

// endpoint returns the configuration's settings for endpoints; with a delegate, the delegate's.
func (c cniConfig) endpoint() HNSPolicy {
	if c.Delegate != nil {
		return c.Delegate.endpoint()
	}
	p := HNSPolicy{DNS: c.DNS.Nameservers, Search: c.DNS.Search}
	for _, v := range slices.Concat(c.Policies, c.AdditionalArgs) {
		if v.Name == "EndpointPolicy" && len(v.Value) > 0 {
			p.Policies = append(p.Policies, v.Value)
		}
	}
	return p
}

// networks returns the networks that the plug-in of a CNI configuration creates. Calico and Flannel also create an
// external network for the machine's own traffic. Source:
// https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/limitations,
// https://learn.microsoft.com/virtualization/windowscontainers/kubernetes/network-topologies.
func (c cniConfig) networks() []HNSNetwork {
	if len(c.Plugins) > 0 {
		c.Plugins[0].Name = c.Name
		return c.Plugins[0].networks()
	}
	pods := func(name, kind string) HNSNetwork {
		return HNSNetwork{Name: name, Type: kind, CNI: true, Endpoint: c.endpoint()}
	}
	switch {
	case c.Type == "calico" && c.Mode == "windows-bgp":
		return []HNSNetwork{externalNetwork(L2Bridge), pods("Calico", L2Bridge)}
	case c.Type == "calico":
		return []HNSNetwork{externalNetwork(Overlay), pods("Calico", Overlay)}
	case c.Type == "azure-vnet":
		return []HNSNetwork{pods("azure", L2Bridge)}
	case c.Type == "flannel" && c.Delegate != nil && c.Delegate.Type == "win-bridge":
		return []HNSNetwork{pods("cbr0", L2Bridge)}
	case c.Type == "flannel":
		return []HNSNetwork{externalNetwork(Overlay), pods("flannel.4096", Overlay)}
	}
	return nil
}

// externalNetwork returns the network of the machine's own traffic, with a subnet that no pod uses.
func externalNetwork(kind string) HNSNetwork {
	s := HNSSubnet{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, 255, 0}), 30)}
	s.Gateway = s.Prefix.Addr().Next()
	if kind == Overlay {
		s.VSID = 9999
	}
	return HNSNetwork{Name: "External", Type: kind, Subnets: []HNSSubnet{s}}
}

// podSubnets returns the subnets of the pods' network: the node's ranges and, with an overlay, the number of the
// overlay. If the CNI uses addresses of the virtual network, the range is the machine's subnet.
func (m *Machine) podSubnets(n HNSNetwork, vni int) (out []HNSSubnet) {
	vsid := 0
	if n.Type == Overlay {
		vsid = cmp.Or(vni, windows.WindowsVNI)
	}
	var ranges []netip.Prefix
	if n.Name == "azure" {
		ranges = []netip.Prefix{m.Subnet()}
	} else if m.Pods != nil {
		ranges = m.Pods.Ranges()
	}
	for _, r := range ranges {
		if r.IsValid() {
			out = append(out, HNSSubnet{Prefix: r, Gateway: r.Addr().Next(), VSID: vsid})
		}
	}
	return out
}

// subnetBits is the prefix length of the subnet that the simulated network gives machines.
const subnetBits = 16

// Subnet returns the range that contains the machine's address; it is not valid if the machine has no IPv4
// address.
func (m *Machine) Subnet() netip.Prefix {
	if m.Range.IsValid() {
		return m.Range.Masked()
	}
	if ip := m.IP(); ip.Is4() {
		return netip.PrefixFrom(ip, subnetBits).Masked()
	}
	return netip.Prefix{}
}

// HNSNetworks returns the networks of the Host Network Service by name: those that scripts created and the CNI's.
func (m *Machine) HNSNetworks() []HNSNetwork {
	var out []HNSNetwork
	add := func(n HNSNetwork) {
		if i := slices.IndexFunc(out, func(o HNSNetwork) bool { return o.Name == n.Name }); i >= 0 {
			if n.CNI {
				out[i].CNI, out[i].Endpoint = true, n.Endpoint
			}
			if len(out[i].Subnets) == 0 {
				out[i].Subnets = n.Subnets
			}
			return
		}
		out = append(out, n)
	}
	if data, err := m.Root.ReadFile(hnsFile); err == nil {
		for line := range strings.Lines(string(data)) {
			if n, ok := parseNetwork(strings.Fields(line)); ok {
				add(n)
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
				if n.CNI {
					n.Subnets = m.podSubnets(n, c.vni())
				}
				add(n)
			}
		}
	}
	slices.SortFunc(out, func(a, b HNSNetwork) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// PodNetwork returns the network of the pods; ok is false if there is none.
func (m *Machine) PodNetwork() (HNSNetwork, bool) {
	all := m.HNSNetworks()
	i := slices.IndexFunc(all, func(n HNSNetwork) bool { return n.CNI })
	if i < 0 {
		return HNSNetwork{}, false
	}
	return all[i], true
}

// HNSEndpoints returns the endpoints of the node's pods and of the backends of Services on other nodes; none if the
// pods have no network.
func (m *Machine) HNSEndpoints() []HNSEndpoint {
	if _, ok := m.PodNetwork(); !ok || m.Pods == nil {
		return nil
	}
	return m.Pods.Endpoints()
}

// HNSBalancers returns the load balancers of Services; none if the pods have no network.
func (m *Machine) HNSBalancers() []HNSBalancer {
	if _, ok := m.PodNetwork(); !ok || m.Pods == nil {
		return nil
	}
	return m.Pods.Balancers()
}

// Gateway returns the first address of the machine's range, which Azure and pod networks reserve for the gateway; not
// valid if there is no range.
func (m *Machine) Gateway() netip.Addr {
	if s := m.Subnet(); s.IsValid() {
		return s.Addr().Next()
	}
	return netip.Addr{}
}

// Adapter returns the name of the network adapter with a Windows machine's addresses: HNS moves them to a virtual
// adapter.
func (m *Machine) Adapter() string {
	if len(m.HNSNetworks()) > 0 {
		return "vEthernet (Ethernet)"
	}
	return "Ethernet"
}

// vni returns the number of the overlay in a configuration; 0 for none.
func (c cniConfig) vni() int {
	if len(c.Plugins) > 0 {
		return c.Plugins[0].VNI
	}
	return c.VNI
}

// parseNetwork returns the network in a line of hnsFile, given as fields.
func parseNetwork(f []string) (n HNSNetwork, ok bool) {
	if len(f) < 2 {
		return n, false
	}
	n = HNSNetwork{Name: f[0], Type: f[1]}
	if len(f) == 5 {
		prefix, err1 := netip.ParsePrefix(f[2])
		gateway, err2 := netip.ParseAddr(f[3])
		vsid, err3 := strconv.Atoi(f[4])
		if cmp.Or(err1, err2, err3) == nil {
			n.Subnets = []HNSSubnet{{prefix, gateway, vsid}}
		}
	}
	return n, true
}

// AddHNSNetwork creates a network with at most one subnet, unless a network of that name exists.
func (m *Machine) AddHNSNetwork(n HNSNetwork) error {
	if slices.ContainsFunc(m.HNSNetworks(), func(o HNSNetwork) bool { return o.Name == n.Name }) {
		return nil
	}
	line := n.Name + " " + n.Type
	for _, s := range n.Subnets {
		line += fmt.Sprintf(" %s %s %d", s.Prefix, s.Gateway, s.VSID)
	}
	if err := m.Root.MkdirAll(`C:\ProgramData\Microsoft\Windows\HNS`); err != nil {
		return err
	}
	return m.Root.AppendFile(hnsFile, []byte(line+"\r\n"), 0o644)
}
