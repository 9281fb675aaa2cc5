package fabric

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// SecurityGroup is a network security group. Its default rules are not listed.
type SecurityGroup struct {
	ID    string
	Rules []SecurityRule
}

// SecurityRule is a rule of a security group. Address lists contain prefixes, addresses, "*" and
// the service tags VirtualNetwork, AzureLoadBalancer and Internet. Other tags name services that do
// not exist here and match nothing, and neither do application security groups.
type SecurityRule struct {
	Name                          string
	Priority                      int
	Inbound, Allow                bool
	Protocol                      string // tcp, udp, icmp, *
	Sources, Destinations         []string
	SourcePorts, DestinationPorts []string // "*", "22", "30000-32767"
}

// Flow is the first packet of a connection.
type Flow struct {
	Protocol            string // tcp, udp, icmp
	Source, Destination netip.Addr
	// SourcePort is 0 if it is unknown; rules then see 49152, a typical ephemeral port.
	SourcePort, DestinationPort uint16
}

// Verdict is the decision of a security group about a flow, with the rule that made it.
type Verdict struct {
	Allow bool
	Group string // ID; "" if there is no group
	Rule  string
}

func (v Verdict) String() string {
	if v.Group == "" {
		return v.Rule
	}
	return fmt.Sprintf("rule %s of network security group %s", v.Rule, v.Group[strings.LastIndexByte(v.Group, '/')+1:])
}

// probeSource is the address from which Azure probes backends, the service tag
// AzureLoadBalancer.
// Source: learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16.
var probeSource = netip.AddrFrom4([4]byte{168, 63, 129, 16})

// internetSource is the host's address in the view of rules: "*", Internet and 0.0.0.0/0 match it.
var internetSource = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// defaultRules returns the rules that Azure adds to each group. Source:
// learn.microsoft.com/azure/virtual-network/network-security-groups-overview#default-security-rules.
func defaultRules() []SecurityRule {
	rule := func(name string, priority int, inbound, allow bool, source, destination string) SecurityRule {
		return SecurityRule{
			Name: name, Priority: priority, Inbound: inbound, Allow: allow, Protocol: "*",
			Sources: []string{source}, Destinations: []string{destination},
			SourcePorts: []string{"*"}, DestinationPorts: []string{"*"},
		}
	}
	return []SecurityRule{
		rule("AllowVnetInBound", 65000, true, true, "VirtualNetwork", "VirtualNetwork"),
		rule("AllowAzureLoadBalancerInBound", 65001, true, true, "AzureLoadBalancer", "*"),
		rule("DenyAllInBound", 65500, true, false, "*", "*"),
		rule("AllowVnetOutBound", 65000, false, true, "VirtualNetwork", "VirtualNetwork"),
		rule("AllowInternetOutBound", 65001, false, true, "*", "Internet"),
		rule("DenyAllOutBound", 65500, false, false, "*", "*"),
	}
}

// Evaluate returns the verdict of the matching rule with the lowest priority number. space contains
// the prefixes of the service tag VirtualNetwork.
func (g SecurityGroup) Evaluate(inbound bool, f Flow, space []netip.Prefix) Verdict {
	best := SecurityRule{Priority: 1 << 30, Name: "none"}
	for _, r := range slices.Concat(g.Rules, defaultRules()) {
		if r.Inbound == inbound && r.Priority < best.Priority && r.matches(f, space) {
			best = r
		}
	}
	return Verdict{Allow: best.Allow, Group: g.ID, Rule: best.Name}
}

func (r SecurityRule) matches(f Flow, space []netip.Prefix) bool {
	source := f.SourcePort
	if source == 0 {
		source = 49152
	}
	return (r.Protocol == "*" || strings.EqualFold(r.Protocol, f.Protocol)) &&
		matchAddress(r.Sources, f.Source, space) && matchAddress(r.Destinations, f.Destination, space) &&
		matchPort(r.SourcePorts, source) && matchPort(r.DestinationPorts, f.DestinationPort)
}

func matchAddress(list []string, ip netip.Addr, space []netip.Prefix) bool {
	inside := slices.ContainsFunc(space, func(p netip.Prefix) bool { return p.Contains(ip) })
	return slices.ContainsFunc(list, func(s string) bool {
		switch strings.ToLower(s) {
		case "*", "any":
			return true
		case "virtualnetwork":
			return inside
		case "azureloadbalancer":
			return ip == probeSource
		case "internet":
			return !inside && ip != probeSource
		}
		if p, err := netip.ParsePrefix(s); err == nil {
			return p.Contains(ip)
		}
		a, err := netip.ParseAddr(s)
		return err == nil && a == ip
	})
}

func matchPort(list []string, port uint16) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		if s == "*" {
			return true
		}
		low, high, isRange := strings.Cut(s, "-")
		if !isRange {
			high = low
		}
		l, err1 := strconv.ParseUint(strings.TrimSpace(low), 10, 16)
		h, err2 := strconv.ParseUint(strings.TrimSpace(high), 10, 16)
		return err1 == nil && err2 == nil && uint64(port) >= l && uint64(port) <= h
	})
}

// inbound evaluates the security groups on the way to a machine: its subnet's, then its
// interface's. public is true for a flow through a public address, which is denied if there is no
// group, unless the address has the SKU Basic.
func (ix *index) inbound(to place, f Flow, public, basic bool) Verdict {
	c := ix.configs[to]
	if c == nil {
		return Verdict{Allow: true, Rule: "no interface"}
	}
	asked := false
	for _, id := range ix.groupsOf(c) {
		g := ix.groups[id]
		if g == nil {
			continue
		}
		asked = true
		if v := g.Evaluate(true, f, ix.space(to.vnet)); !v.Allow {
			return v
		}
	}
	if public && !basic && !asked {
		return Verdict{Rule: "a Standard public address is closed where no network security group opens it"}
	}
	return Verdict{Allow: true, Rule: "allowed"}
}

// outbound evaluates the security groups of the machine that a flow leaves.
func (ix *index) outbound(from place, f Flow) Verdict {
	c := ix.configs[from]
	if c == nil {
		return Verdict{Allow: true, Rule: "no interface"}
	}
	for _, id := range slices.Backward(ix.groupsOf(c)) {
		if g := ix.groups[id]; g != nil {
			if v := g.Evaluate(false, f, ix.space(from.vnet)); !v.Allow {
				return v
			}
		}
	}
	return Verdict{Allow: true, Rule: "allowed"}
}

// groupsOf returns the security group of the subnet, then that of the interface, if they have one.
func (ix *index) groupsOf(c *IPConfig) []string {
	var out []string
	if s := ix.subnets[c.Subnet]; s != nil && s.SecurityGroup != "" {
		out = append(out, s.SecurityGroup)
	}
	if n := ix.iface[c]; n != nil && n.SecurityGroup != "" {
		out = append(out, n.SecurityGroup)
	}
	return out
}
