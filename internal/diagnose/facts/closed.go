package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Network is what Azure has of a cluster's network, as JSON, with the way that is asked for: from the cluster's subnets to
// the API server.
type Network struct {
	// Vnet is the name of the virtual network, ControlPlane the names of the control plane's subnets.
	Vnet         string
	ControlPlane []string
	// Host and Port are the API server's.
	Host string
	Port int

	Vnets, Groups, Tables, Interfaces, Balancers []json.RawMessage
}

// resource has the needed fields of any of the resources, as Azure returns them.
type resource struct {
	ID, Name   string
	Tags       map[string]string
	Properties struct {
		SecurityRules []securityRule
		Subnets       []resource
		Routes        []struct {
			Name       string
			Properties struct{ AddressPrefix, NextHopType, NextHopIPAddress string }
		}
		AddressPrefix                    string
		AddressPrefixes                  []string
		NetworkSecurityGroup, RouteTable *struct{ ID string }
		IPConfigurations                 []struct {
			Properties struct{ PrivateIPAddress string }
		}
		BackendAddressPools []struct {
			Name       string
			Properties struct{ BackendIPConfigurations, LoadBalancerBackendAddresses []any }
		}
		LoadBalancingRules []struct {
			Properties struct {
				BackendPort        int
				BackendAddressPool *struct{ ID string }
			}
		}
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

// Blocked returns what keeps the cluster's subnets from the API server: the first rule that applies, in the group that is
// attached to a subnet of the way, if it denies; a route that drops; an empty backend pool. Groups and tables that are
// attached to nothing of the way are not judged. unknown are next hops that cannot be judged here.
func (n Network) Blocked() (blocked, unknown []string) {
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
		for _, from := range subnets {
			if g := from.Properties.NetworkSecurityGroup; g != nil {
				blocked = append(blocked, groups[strings.ToLower(g.ID)].denies("Outbound", from, to, n)...)
			}
			if g := to.Properties.NetworkSecurityGroup; g != nil {
				blocked = append(blocked, groups[strings.ToLower(g.ID)].denies("Inbound", from, to, n)...)
			}
			if t := from.Properties.RouteTable; t != nil {
				b, u := tables[strings.ToLower(t.ID)].drops(from, to, n)
				blocked, unknown = append(blocked, b...), append(unknown, u...)
			}
		}
	}
	blocked = append(blocked, n.emptyPools()...)
	slices.Sort(blocked)
	slices.Sort(unknown)
	return slices.Compact(blocked), slices.Compact(unknown)
}

func byID(all []resource) map[string]resource {
	out := map[string]resource{}
	for _, r := range all {
		out[strings.ToLower(r.ID)] = r
	}
	return out
}

// prefixes returns a subnet's address ranges.
func (r resource) prefixes() []string {
	return append(slices.Clone(r.Properties.AddressPrefixes), r.Properties.AddressPrefix)
}

// owner says whose a resource is, by its tags.
func (r resource) owner() string {
	for tag, value := range r.Tags {
		if strings.Contains(tag, "cluster-api-provider-azure_cluster") {
			return "tag " + tag + ": " + value
		}
	}
	return "no tag of a cluster, so somebody else made it"
}

// denies returns the rule of a group that denies the way between two subnets, if the first that applies does.
func (r resource) denies(direction string, from, to resource, n Network) []string {
	rules := slices.Clone(r.Properties.SecurityRules)
	slices.SortStableFunc(rules, func(a, b securityRule) int { return cmp.Compare(a.Properties.Priority, b.Properties.Priority) })
	for _, rule := range rules {
		p := rule.Properties
		if !strings.EqualFold(p.Direction, direction) || p.Protocol != "*" && !strings.EqualFold(p.Protocol, "Tcp") ||
			!inRanges(append(slices.Clone(p.DestinationPortRanges), p.DestinationPortRange), n.Port) ||
			!covers(append(slices.Clone(p.SourceAddressPrefixes), p.SourceAddressPrefix), from.prefixes()) ||
			!covers(append(slices.Clone(p.DestinationAddressPrefixes), p.DestinationAddressPrefix), to.prefixes()) {
			continue
		}
		if !strings.EqualFold(p.Access, "Deny") {
			return nil
		}
		return []string{fmt.Sprintf("security rule %s of %s (%s, priority %d) denies port %d from %s, subnet %s to %s; %s", rule.Name,
			r.Name, direction, p.Priority, n.Port, cmp.Or(p.SourceAddressPrefix, strings.Join(p.SourceAddressPrefixes, ",")),
			from.Name, to.Name, r.owner())}
	}
	return nil
}

// covers reports whether one of a rule's ranges contains one of a subnet's; a rule without any says nothing about it and
// covers all, as * does.
func covers(rule, subnet []string) bool {
	none := true
	for _, r := range rule {
		if r == "" {
			continue
		}
		none = false
		if r == "*" || strings.EqualFold(r, "VirtualNetwork") {
			return true
		}
		p, err := netip.ParsePrefix(r)
		if err != nil {
			if a, err := netip.ParseAddr(r); err == nil {
				p = netip.PrefixFrom(a, a.BitLen())
			}
		}
		for _, s := range subnet {
			if own, err := netip.ParsePrefix(s); err == nil && p.IsValid() && p.Bits() <= own.Bits() && p.Contains(own.Addr()) {
				return true
			}
		}
	}
	return none
}

// drops judges the most specific route of a table to a subnet: one to None drops; one to an appliance that no interface
// of the cluster's network has cannot be judged.
func (r resource) drops(from, to resource, n Network) (blocked, unknown []string) {
	best, chosen := -1, -1
	for i, route := range r.Properties.Routes {
		p, err := netip.ParsePrefix(route.Properties.AddressPrefix)
		if err == nil && covers([]string{p.String()}, to.prefixes()) && p.Bits() > best {
			best, chosen = p.Bits(), i
		}
	}
	// Azure's own route to the network goes before a shorter one. Source:
	// learn.microsoft.com/azure/virtual-network/virtual-networks-udr-overview.
	if chosen < 0 || best == 0 {
		return nil, nil
	}
	route := r.Properties.Routes[chosen]
	p := route.Properties
	where := fmt.Sprintf("route %s of %s (subnet %s)", route.Name, r.Name, from.Name)
	switch {
	case strings.EqualFold(p.NextHopType, "None"):
		blocked = append(blocked, fmt.Sprintf("%s drops what goes to %s; %s", where, p.AddressPrefix, r.owner()))
	case strings.EqualFold(p.NextHopType, "VirtualAppliance"):
		for _, nic := range parsed(n.Interfaces) {
			for _, c := range nic.Properties.IPConfigurations {
				if c.Properties.PrivateIPAddress == p.NextHopIPAddress {
					return nil, []string{where + " sends to the appliance " + p.NextHopIPAddress + ", interface " + nic.Name + ": whether it forwards"}
				}
			}
		}
		unknown = append(unknown, where+" sends to "+p.NextHopIPAddress+", which no interface of the resource group has: whether it is there")
	}
	return blocked, unknown
}

// emptyPools returns the backend pools for the API server's port that have no member.
func (n Network) emptyPools() (out []string) {
	for _, b := range parsed(n.Balancers) {
		for _, rule := range b.Properties.LoadBalancingRules {
			pool := rule.Properties.BackendAddressPool
			if rule.Properties.BackendPort != n.Port || pool == nil {
				continue
			}
			for _, p := range b.Properties.BackendAddressPools {
				if strings.HasSuffix(strings.ToLower(pool.ID), "/"+strings.ToLower(p.Name)) &&
					len(p.Properties.BackendIPConfigurations)+len(p.Properties.LoadBalancerBackendAddresses) == 0 {
					out = append(out, fmt.Sprintf("backend pool %s of load balancer %s, for port %d, has no member; "+
						"%s", p.Name, b.Name, n.Port, b.owner()))
				}
			}
		}
	}
	return out
}

// inRanges reports whether a port is in one of the ranges: *, a number, or two with a hyphen.
func inRanges(ranges []string, port int) bool {
	return slices.ContainsFunc(ranges, func(r string) bool {
		from, to, _ := strings.Cut(r, "-")
		first, err := strconv.Atoi(from)
		last, wrong := strconv.Atoi(cmp.Or(to, from))
		return r == "*" || err == nil && wrong == nil && first <= port && port <= last
	})
}
