package preflight

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/reach"
	"casement.dev/casement/internal/lint"
)

// ownsNoNetwork reports whether a cluster uses an existing network.
func (c *Cluster) ownsNoNetwork() bool {
	if c.Azure == nil {
		return false
	}
	group := c.Azure.Spec.NetworkSpec.Vnet.ResourceGroup
	return group != "" && !strings.EqualFold(group, c.Azure.Spec.ResourceGroup)
}

// own returns the existing network that a cluster uses; ok is false if the cluster creates its network, or if nothing
// is known about it.
func own(c *Cluster, s *Subscription) (live vnet, ok bool) {
	if !c.ownsNoNetwork() || s.networksUnknown() {
		return vnet{}, false
	}
	v := c.Azure.Spec.NetworkSpec.Vnet
	return s.live(v.ResourceGroup, v.Name)
}

func ownNetwork(p *lint.Pass, c *Cluster, s *Subscription) {
	spec := &c.Azure.Spec
	v := spec.NetworkSpec.Vnet
	if !c.ownsNoNetwork() || s.networksUnknown() {
		return
	}
	live, ok := s.live(v.ResourceGroup, v.Name)
	if !ok {
		p.Report(c.Infra, in(c.Infra, "spec.networkSpec.vnet.name"),
			fmt.Sprintf("there is no virtual network %s in resource group %s", v.Name, v.ResourceGroup),
			say("create it first (on the local plane: casement azure prepare FILE), or leave vnet.resourceGroup out to have it made"))
		return
	}
	for i, wanted := range spec.NetworkSpec.Subnets {
		found := slices.ContainsFunc(live.Properties.Subnets,
			func(l subnet) bool { return strings.EqualFold(l.Name, wanted.Name) })
		if !found {
			p.Report(c.Infra, in(c.Infra, fmt.Sprintf("spec.networkSpec.subnets[%d].name", i)), fmt.Sprintf("virtual "+
				"network %s has no subnet %s, and casement makes none in a network that is not its "+
				"own", v.Name, wanted.Name), say("create it first"))
		}
	}
	// The ranges of such a network come from Azure, unless the manifest declares them.
	if at := in(c.Infra, "spec.networkSpec.vnet.cidrBlocks"); at.Exists() {
		for _, b := range blocks("", at) {
			if !slices.Contains(live.Properties.AddressSpace.AddressPrefixes, b.String()) {
				p.ReportAs(lint.Warning, c.Infra, b.at, fmt.Sprintf("virtual network %s has the ranges %s", v.Name,
					strings.Join(live.Properties.AddressSpace.AddressPrefixes, ", ")), say("the same"))
			}
		}
	}
}

// ownWay checks the path to the API server in an existing network by the same rules as casement why.
func ownWay(p *lint.Pass, c *Cluster, s *Subscription) {
	live, ok := own(c, s)
	if !ok {
		return
	}
	spec := c.Azure.Spec.NetworkSpec
	n := reach.Network{Vnet: live.Name, Port: cmp.Or(int(c.Azure.Spec.ControlPlaneEndpoint.Port), reach.DefaultPort), Groups: s.groups,
		Tables: s.tables, ControlPlane: reach.ControlPlane(spec.Subnets), Vnets: []json.RawMessage{live.raw},
		Public: spec.APIServerLB == nil || spec.APIServerLB.Type != infrav1.Internal}
	blocked, _ := n.Blocked()
	for _, b := range blocked {
		p.Report(c.Infra, in(c.Infra, "spec.networkSpec.vnet.name"), b.Line,
			say("let that port in, or have the owner of the network do so; casement changes nothing in a network that is not its own"))
	}
}

// reserved is the number of addresses of a subnet that Azure reserves: the first four and the last. Source:
// learn.microsoft.com/azure/virtual-network/virtual-networks-faq.
const reserved = 5

// freeAddresses returns the number of free IPv4 addresses of a subnet.
func (s subnet) freeAddresses() int {
	free := -reserved - len(s.Properties.IPConfigurations)
	for _, text := range append(slices.Clone(s.Properties.AddressPrefixes), s.Properties.AddressPrefix) {
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
			free += 1 << (prefix.Addr().BitLen() - prefix.Bits())
		}
	}
	return free
}

func ownRoom(p *lint.Pass, c *Cluster, s *Subscription) {
	live, ok := own(c, s)
	if !ok {
		return
	}
	wanted := map[string]int{}
	for _, m := range c.Machines {
		for _, name := range c.subnetsOf(m) {
			wanted[name] += m.Replicas
		}
	}
	for i, declared := range c.Azure.Spec.NetworkSpec.Subnets {
		at := slices.IndexFunc(live.Properties.Subnets, func(l subnet) bool { return strings.EqualFold(l.Name, declared.Name) })
		if at < 0 { // check PRE205 reports it
			continue
		}
		if room := max(0, live.Properties.Subnets[at].freeAddresses()); room < wanted[declared.Name] {
			p.Report(c.Infra, in(c.Infra, fmt.Sprintf("spec.networkSpec.subnets[%d].name", i)), fmt.Sprintf("subnet %s of virtual "+
				"network %s has addresses left: %d, and the machines of this manifest take %d", declared.Name, live.Name, room,
				wanted[declared.Name]), say("a larger subnet, or fewer machines"))
		}
	}
}

// subnetsOf returns the subnets of the interfaces of a group's machines, one for each interface.
func (c *Cluster) subnetsOf(m *Machines) (names []string) {
	role := infrav1.SubnetNode
	if m.ControlPlane {
		role = infrav1.SubnetControlPlane
	}
	byRole := func() string {
		for _, s := range c.Azure.Spec.NetworkSpec.Subnets {
			if s.Role == role || s.Role == infrav1.SubnetCluster {
				return s.Name
			}
		}
		return ""
	}
	for _, n := range m.Spec.NetworkInterfaces {
		names = append(names, cmp.Or(n.SubnetName, byRole()))
	}
	if len(names) == 0 {
		names = []string{cmp.Or(m.Spec.SubnetName, byRole())}
	}
	return names
}

func ownNames(p *lint.Pass, c *Cluster, s *Subscription) {
	live, ok := own(c, s)
	lb := c.Azure.Spec.NetworkSpec.APIServerLB
	if !ok || len(live.Properties.DHCPOptions.DNSServers) == 0 || lb == nil || lb.Type != infrav1.Internal {
		return
	}
	if mode := c.Azure.Spec.NetworkSpec.PrivateDNSZone; mode != nil && *mode == infrav1.PrivateDNSZoneModeNone {
		return
	}
	p.Report(c.Infra, in(c.Infra, "spec.networkSpec.vnet.name"), fmt.Sprintf("virtual network %s has the name servers %s, which do "+
		"not know the private DNS zone of the API server by themselves", live.Name, strings.Join(live.Properties.DHCPOptions.DNSServers, ", ")),
		say("a conditional forwarder there to 168.63.129.16, linked as the zone is; ask the owner of the servers"))
}
