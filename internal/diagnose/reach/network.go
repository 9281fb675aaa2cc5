package reach

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/diagnose/facts"
)

// Network is a cluster's network as Azure returns it, in JSON. The examined path leads from the cluster's subnets to
// the API server.
type Network struct {
	// Vnet is the name of the virtual network; ControlPlane are the names of the control plane's subnets.
	Vnet         string
	ControlPlane []string
	// Host and Port are the API server's address; Public is true if its load balancer has a public address.
	Host   string
	Port   int
	Public bool
	// Balancer is the name of the API server's load balancer; with "", every load balancer is examined.
	Balancer string
	// Zone is the private DNS zone of Host, "" if it has none; Absent is true if the zone does not exist in Azure.
	Zone   string
	Absent bool

	// Interfaces and Balancers are all those of the subscription, because an appliance may be in another resource group.
	Vnets, Groups, Tables, Interfaces, Balancers []json.RawMessage
	// Links and Records belong to the zone.
	Links, Records []json.RawMessage
	// Off are virtual machines that do not run, by ID in lower case, with their power state.
	Off map[string]string
}

// resource has the needed fields of all resource types, as Azure returns them.
type resource struct {
	ID, Name   string
	Tags       map[string]string
	Properties struct {
		SecurityRules []securityRule
		Subnets       []resource
		AddressSpace  struct{ AddressPrefixes []string }
		Routes        []struct {
			Name       string
			Properties struct{ AddressPrefix, NextHopType, NextHopIPAddress string }
		}
		AddressPrefix                    string
		AddressPrefixes                  []string
		NetworkSecurityGroup, RouteTable *struct{ ID string }
		// Fields of an interface.
		VirtualMachine     *struct{ ID string }
		EnableIPForwarding bool
		IPConfigurations   []addressed
		// Fields of a load balancer.
		FrontendIPConfigurations []addressed
		BackendAddressPools      []struct {
			Name       string
			Properties struct{ BackendIPConfigurations, LoadBalancerBackendAddresses []any }
		}
		Probes []struct {
			Name       string
			Properties struct {
				Port     int
				Protocol string
			}
		}
		LoadBalancingRules []struct {
			Name       string
			Properties struct {
				BackendPort               int
				BackendAddressPool, Probe *struct{ ID string }
			}
		}
		// Fields of a link or a record of a zone.
		VirtualNetwork *struct{ ID string }
		ARecords       []struct{ IPv4Address string }
	}
}

// addressed is an IP configuration.
type addressed struct {
	Properties struct {
		PrivateIPAddress string
		Subnet           *struct{ ID string }
	}
}

type securityRule struct {
	Name       string
	Properties struct {
		Access, Direction, Protocol                       string
		SourceAddressPrefix, DestinationAddressPrefix     string
		SourceAddressPrefixes, DestinationAddressPrefixes []string
		DestinationPortRange                              string
		DestinationPortRanges                             []string
		Priority                                          int
	}
}

func parsed(all []json.RawMessage) (out []resource) {
	for _, data := range all {
		var r resource
		if json.Unmarshal(data, &r) == nil {
			out = append(out, r)
		}
	}
	return out
}

// The service tags of Azure's security rules that are examined. Source:
// learn.microsoft.com/azure/virtual-network/service-tags-overview.
const (
	internet = "Internet"
	balancer = "AzureLoadBalancer"
)

// judgement collects the obstacles.
type judgement struct {
	Network

	blocked []facts.Obstacle
	unknown []string
}

func (j *judgement) block(cause, format string, args ...any) {
	j.blocked = append(j.blocked, facts.Obstacle{Cause: cause, Line: fmt.Sprintf(format, args...)})
}

// Blocked returns the obstacles between the cluster's subnets and the API server: in a group that is attached to a
// subnet or interface on the path, the first matching rule, if it denies the traffic; a route that drops traffic, or
// whose appliance does not work; a pool without members, without a rule, or with a probe of another port; a zone
// without its link or record. Resources that are not attached to the path are ignored. unknown are the parts that
// cannot be judged here.
func (n Network) Blocked() (blocked []facts.Obstacle, unknown []string) {
	j := &judgement{Network: n}
	groups, tables := byID(parsed(n.Groups)), byID(parsed(n.Tables))
	var subnets []resource
	for _, v := range parsed(n.Vnets) {
		if n.Vnet == "" || strings.EqualFold(v.Name, n.Vnet) {
			subnets = append(subnets, v.Properties.Subnets...)
		}
	}
	for _, to := range subnets {
		if !slices.Contains(n.ControlPlane, to.Name) {
			continue
		}
		entries := j.groupsOn(groups, to)
		for _, from := range subnets {
			for _, g := range j.groupsOn(groups, from) {
				j.denies(g, "Outbound", from, to)
			}
			for _, g := range entries {
				j.denies(g, "Inbound", from, to)
			}
			if t := from.Properties.RouteTable; t != nil {
				j.drops(tables[strings.ToLower(t.ID)], from, to)
			}
		}
		for _, g := range entries {
			j.closed(g, to)
		}
	}
	j.balancers()
	j.names()
	slices.SortFunc(j.blocked, func(a, b facts.Obstacle) int { return cmp.Compare(a.Cause+a.Line, b.Cause+b.Line) })
	slices.Sort(j.unknown)
	return slices.Compact(j.blocked), slices.Compact(j.unknown)
}

func byID(all []resource) map[string]resource {
	out := map[string]resource{}
	for _, r := range all {
		out[strings.ToLower(r.ID)] = r
	}
	return out
}

// attachedGroup is a security group and the subnet or network interface that it is attached to.
type attachedGroup struct {
	resource

	attachedTo string
}

// groupsOn returns the groups of a subnet and of the interfaces in it: Azure passes only the traffic that both allow.
// Source: learn.microsoft.com/azure/virtual-network/network-security-group-how-it-works.
func (j *judgement) groupsOn(groups map[string]resource, subnet resource) (out []attachedGroup) {
	if g := subnet.Properties.NetworkSecurityGroup; g != nil {
		out = append(out, attachedGroup{groups[strings.ToLower(g.ID)], "subnet " + subnet.Name})
	}
	for _, nic := range parsed(j.Interfaces) {
		g := nic.Properties.NetworkSecurityGroup
		if g == nil || subnet.ID == "" || !slices.ContainsFunc(nic.Properties.IPConfigurations, func(c addressed) bool {
			return c.Properties.Subnet != nil && strings.EqualFold(c.Properties.Subnet.ID, subnet.ID)
		}) {
			continue
		}
		if group, is := groups[strings.ToLower(g.ID)]; is {
			out = append(out, attachedGroup{group, "interface " + nic.Name})
		}
	}
	return out
}

// prefixes returns a subnet's address ranges.
func (r resource) prefixes() []string {
	return append(slices.Clone(r.Properties.AddressPrefixes), r.Properties.AddressPrefix)
}

// owner describes a resource's owner according to its tags.
func (r resource) owner() string {
	for tag, value := range r.Tags {
		if strings.Contains(tag, "cluster-api-provider-azure_cluster") {
			return "tag " + tag + ": " + value
		}
	}
	return "no tag of a cluster, so somebody else made it"
}

// rules returns a group's rules for TCP in a direction and to a port of a subnet, in order of their priority.
func (r resource) rules(direction string, port int, to resource) []securityRule {
	rules := slices.DeleteFunc(slices.Clone(r.Properties.SecurityRules), func(rule securityRule) bool {
		p := rule.Properties
		return !strings.EqualFold(p.Direction, direction) || p.Protocol != "*" && !strings.EqualFold(p.Protocol, "Tcp") ||
			!inRanges(append(slices.Clone(p.DestinationPortRanges), p.DestinationPortRange), port) ||
			!covers(append(slices.Clone(p.DestinationAddressPrefixes), p.DestinationAddressPrefix), to.prefixes())
	})
	slices.SortStableFunc(rules, func(a, b securityRule) int { return cmp.Compare(a.Properties.Priority, b.Properties.Priority) })
	return rules
}

// sources returns the sources of a rule.
func (s securityRule) sources() []string {
	return append(slices.Clone(s.Properties.SourceAddressPrefixes), s.Properties.SourceAddressPrefix)
}

func (s securityRule) denies() bool { return strings.EqualFold(s.Properties.Access, "Deny") }

// denies adds the first rule of a group that matches the traffic between two subnets, if it denies the traffic.
func (j *judgement) denies(g attachedGroup, direction string, from, to resource) {
	for _, rule := range g.rules(direction, j.Port, to) {
		if !covers(rule.sources(), from.prefixes()) {
			continue
		}
		if rule.denies() {
			j.block("NetworkRuleDenies", "security rule %s of %s (%s, on %s, priority %d) denies port %d from %s, subnet %s to %s; %s",
				rule.Name, g.Name, direction, g.attachedTo, rule.Properties.Priority, j.Port, strings.Trim(strings.Join(rule.sources(), ","), ","),
				from.Name, to.Name, g.owner())
		}
		return
	}
}

// closed adds a group of the control plane that does not let in the internet, and therefore no clients of a public load
// balancer. Traffic that no rule allows is denied by the default rule DenyAllInBound. Source:
// learn.microsoft.com/azure/virtual-network/network-security-groups-overview.
func (j *judgement) closed(g attachedGroup, to resource) {
	if g.ID == "" {
		return
	}
	j.probed(g, to)
	if !j.Public {
		return
	}
	for _, rule := range g.rules("Inbound", j.Port, to) {
		p := rule.Properties
		switch {
		case covers(rule.sources(), []string{internet}) && rule.denies():
			j.block("NetworkRuleDenies", "security rule %s of %s (Inbound, on %s, priority %d) denies port %d from the internet; %s", rule.Name,
				g.Name, g.attachedTo, p.Priority, j.Port, g.owner())
			return
		case covers(rule.sources(), []string{internet}):
			return
		case !rule.denies() && slices.ContainsFunc(rule.sources(), public):
			j.unknown = append(j.unknown, fmt.Sprintf("security rule %s of %s lets only %s in to port %d: whether the machines' public address "+
				"and yours are among them", rule.Name, g.Name, strings.Trim(strings.Join(rule.sources(), ","), ","), j.Port))
			return
		}
	}
	j.block("PortClosed", "no rule of %s (on %s) lets port %d in from the internet, so the default rule DenyAllInBound denies it; %s", g.Name,
		g.attachedTo, j.Port, g.owner())
}

// public reports whether a source of a rule is an address of the internet.
func public(source string) bool {
	p, err := netip.ParsePrefix(source)
	a := p.Addr()
	if err != nil {
		if a, err = netip.ParseAddr(source); err != nil {
			return source != "" && !strings.EqualFold(source, "VirtualNetwork") && !strings.EqualFold(source, balancer)
		}
	}
	return !a.IsPrivate()
}

// probed adds a rule that denies the load balancer's probe of the control plane: the load balancer then forwards
// nothing to any member.
func (j *judgement) probed(g attachedGroup, to resource) {
	for _, rule := range g.rules("Inbound", j.Port, to) {
		if !covers(rule.sources(), []string{balancer}) {
			continue
		}
		if rule.denies() {
			j.block("ProbeBlocked", "security rule %s of %s (Inbound, on %s, priority %d) denies port %d from the load balancer's probe "+
				"(168.63.129.16); %s", rule.Name, g.Name, g.attachedTo, rule.Properties.Priority, j.Port, g.owner())
		}
		return
	}
}

// covers reports whether one of a rule's ranges contains one of the ranges in asked, or is one of the tags in asked. A
// rule without ranges, or with *, covers all.
func covers(rule, asked []string) bool {
	none := true
	for _, r := range rule {
		if r == "" {
			continue
		}
		none = false
		p, err := netip.ParsePrefix(r)
		if err != nil {
			if a, err := netip.ParseAddr(r); err == nil {
				p = netip.PrefixFrom(a, a.BitLen())
			}
		}
		for _, s := range asked {
			own, err := netip.ParsePrefix(s)
			switch {
			case s == "":
			case r == "*", strings.EqualFold(r, s), r == "0.0.0.0/0" && s == internet:
				return true
			case err == nil && (strings.EqualFold(r, "VirtualNetwork") || p.IsValid() && p.Bits() <= own.Bits() && p.Contains(own.Addr())):
				return true
			}
		}
	}
	return none
}

// drops examines the most specific route of a table to a subnet. A route to None drops the traffic, and so does an
// appliance that is not running or does not forward.
func (j *judgement) drops(r, from, to resource) {
	best, chosen := -1, -1
	for i, route := range r.Properties.Routes {
		p, err := netip.ParsePrefix(route.Properties.AddressPrefix)
		if err == nil && covers([]string{p.String()}, to.prefixes()) && p.Bits() > best {
			best, chosen = p.Bits(), i
		}
	}
	// Azure's own route to the network takes precedence over a shorter one. Source:
	// learn.microsoft.com/azure/virtual-network/virtual-networks-udr-overview.
	if chosen < 0 || best == 0 {
		return
	}
	route := r.Properties.Routes[chosen]
	p := route.Properties
	where := fmt.Sprintf("route %s of %s (subnet %s)", route.Name, r.Name, from.Name)
	switch {
	case strings.EqualFold(p.NextHopType, "None"):
		j.block("RouteDrops", "%s drops what goes to %s; %s", where, p.AddressPrefix, r.owner())
	case strings.EqualFold(p.NextHopType, "VirtualAppliance"):
		j.appliance(where+" sends to the appliance "+p.NextHopIPAddress, p.NextHopIPAddress, r)
	}
}

// appliance examines a next hop by the interface that has its address.
func (j *judgement) appliance(where, address string, table resource) {
	has := func(all []addressed) bool {
		return slices.ContainsFunc(all, func(c addressed) bool { return c.Properties.PrivateIPAddress == address })
	}
	for _, nic := range parsed(j.Interfaces) {
		if !has(nic.Properties.IPConfigurations) {
			continue
		}
		vm := nic.Properties.VirtualMachine
		switch {
		case vm == nil:
			j.block("NextHopDead", "%s: its interface %s belongs to no virtual machine; %s", where, nic.Name, table.owner())
		case j.Off[strings.ToLower(vm.ID)] != "":
			j.block("NextHopDead", "%s: its virtual machine %s is %s; %s", where, lastOf(vm.ID), j.Off[strings.ToLower(vm.ID)], table.owner())
		case !nic.Properties.EnableIPForwarding:
			j.block("NextHopDead", "%s: its interface %s has enableIPForwarding false; %s", where, nic.Name, table.owner())
		default:
			j.unknown = append(j.unknown, where+", interface "+nic.Name+": whether it forwards")
		}
		return
	}
	for _, b := range parsed(j.Balancers) {
		if has(b.Properties.FrontendIPConfigurations) {
			j.unknown = append(j.unknown, where+", load balancer "+b.Name+": whether what is behind it forwards")
			return
		}
	}
	j.unknown = append(j.unknown, where+", which no interface or load balancer of the subscription has: whether it is there")
}

// NextHops returns the IDs of the virtual machines whose interfaces are next hops of routes; Blocked needs their power states.
func (n Network) NextHops() (ids []string) {
	hops := map[string]bool{}
	for _, t := range parsed(n.Tables) {
		for _, r := range t.Properties.Routes {
			hops[r.Properties.NextHopIPAddress] = r.Properties.NextHopIPAddress != ""
		}
	}
	for _, nic := range parsed(n.Interfaces) {
		vm := nic.Properties.VirtualMachine
		if vm != nil && slices.ContainsFunc(nic.Properties.IPConfigurations,
			func(c addressed) bool { return hops[c.Properties.PrivateIPAddress] }) {
			ids = append(ids, vm.ID)
		}
	}
	return ids
}

func lastOf(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// balancers adds, for the API server's port, backend pools without members, rules with a probe of another port, and a
// load balancer without a rule.
func (j *judgement) balancers() {
	var ruleless resource
	rules := 0
	for _, b := range parsed(j.Network.Balancers) {
		if j.Balancer != "" && !strings.EqualFold(b.Name, j.Balancer) {
			continue
		}
		ruleless = b
		for _, rule := range b.Properties.LoadBalancingRules {
			pool, probe := rule.Properties.BackendAddressPool, rule.Properties.Probe
			if rule.Properties.BackendPort == j.Port || rule.Properties.BackendPort == anyPort {
				rules++
			}
			if rule.Properties.BackendPort != j.Port || pool == nil {
				continue
			}
			for _, p := range b.Properties.BackendAddressPools {
				if strings.EqualFold(lastOf(pool.ID), p.Name) &&
					len(p.Properties.BackendIPConfigurations)+len(p.Properties.LoadBalancerBackendAddresses) == 0 {
					j.block("BackendPoolEmpty", "backend pool %s of load balancer %s, for port %d, has no member; %s", p.Name, b.Name, j.Port, b.owner())
				}
			}
			for _, p := range b.Properties.Probes {
				if probe != nil && strings.EqualFold(lastOf(probe.ID), p.Name) && p.Properties.Port != j.Port {
					j.block("ProbeFails", "probe %s of load balancer %s asks port %d, and the API server is at %d, so no member counts as healthy; %s",
						p.Name, b.Name, p.Properties.Port, j.Port, b.owner())
				}
			}
		}
	}
	if j.Balancer != "" && ruleless.Name != "" && rules == 0 {
		j.block("BalancerRuleMissing", "load balancer %s has no rule for port %d; %s", ruleless.Name, j.Port, ruleless.owner())
	}
}

// anyPort is the port of a rule for all ports.
const anyPort = 0

// names adds a private zone that does not exist, is not linked to the network, or lacks the API server's record.
func (j *judgement) names() {
	if j.Zone == "" {
		return
	}
	if j.Absent {
		j.block("DNSZoneMissing", "private DNS zone %s, which has the name of the API server, does not exist", j.Zone)
		return
	}
	linked := slices.ContainsFunc(parsed(j.Links), func(l resource) bool {
		v := l.Properties.VirtualNetwork
		return v != nil && (j.Vnet == "" || strings.EqualFold(lastOf(v.ID), j.Vnet))
	})
	if !linked {
		j.block("DNSLinkMissing", "private DNS zone %s has %d links, and none to virtual network %s", j.Zone, len(j.Links), j.Vnet)
	}
	record := strings.TrimSuffix(j.Host, "."+j.Zone)
	named := slices.ContainsFunc(parsed(j.Records), func(r resource) bool {
		return strings.EqualFold(r.Name, record) && len(r.Properties.ARecords) > 0
	})
	if !named {
		j.block("DNSRecordMissing", "private DNS zone %s has no address record %s", j.Zone, record)
	}
}

// inRanges reports whether a port is in one of the ranges: *, a number, or two numbers with a hyphen.
func inRanges(ranges []string, port int) bool {
	return slices.ContainsFunc(ranges, func(r string) bool {
		from, to, _ := strings.Cut(r, "-")
		first, err := strconv.Atoi(from)
		last, wrong := strconv.Atoi(cmp.Or(to, from))
		return r == "*" || err == nil && wrong == nil && first <= port && port <= last
	})
}
