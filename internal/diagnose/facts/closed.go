package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// securityGroup contains the needed fields of a network security group, as Azure returns it.
type securityGroup struct {
	Name       string
	Properties struct {
		SecurityRules []securityRule
	}
}

type securityRule struct {
	Name       string
	Properties struct {
		Access, Direction, Protocol, SourceAddressPrefix, DestinationPortRange string
		DestinationPortRanges                                                  []string
		Priority                                                               int
	}
}

// ClosedPort returns the rules of a network security group, as JSON from Azure, that deny a TCP port: for each
// direction and source the rule of highest precedence that applies to the port, if it denies. JSON that is no security
// group yields nothing.
func ClosedPort(group json.RawMessage, port int) (denials []string) {
	var g securityGroup
	if json.Unmarshal(group, &g) != nil {
		return nil
	}
	slices.SortStableFunc(g.Properties.SecurityRules,
		func(a, b securityRule) int { return cmp.Compare(a.Properties.Priority, b.Properties.Priority) })
	return g.denied(port)
}

// denied is ClosedPort for a group whose rules are sorted by priority.
func (g securityGroup) denied(port int) (denials []string) {
	open := map[string]bool{}
	for _, r := range g.Properties.SecurityRules {
		p := r.Properties
		about := (p.Protocol == "*" || strings.EqualFold(p.Protocol, "Tcp")) &&
			inRanges(append(p.DestinationPortRanges, p.DestinationPortRange), port)
		if !about || open[p.Direction] {
			continue
		}
		if strings.EqualFold(p.Access, "Deny") {
			denials = append(denials, fmt.Sprintf("security rule %s of %s (%s, priority %d) denies port %d from %s",
				r.Name, g.Name, p.Direction, p.Priority, port, cmp.Or(p.SourceAddressPrefix, "some addresses")))
		} else if p.SourceAddressPrefix == "*" || p.SourceAddressPrefix == "" {
			open[p.Direction] = true // what comes after it is not reached
		}
	}
	return denials
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

// ClosedRoutes returns the routes of a route table, as JSON from Azure, whose next hop drops traffic.
func ClosedRoutes(table json.RawMessage) (closed []string) {
	var t struct {
		Name       string
		Properties struct {
			Routes []struct {
				Name       string
				Properties struct{ AddressPrefix, NextHopType string }
			}
		}
	}
	if json.Unmarshal(table, &t) != nil {
		return nil
	}
	for _, r := range t.Properties.Routes {
		if strings.EqualFold(r.Properties.NextHopType, "None") {
			closed = append(closed, fmt.Sprintf("route %s of %s drops what goes to %s", r.Name, t.Name, r.Properties.AddressPrefix))
		}
	}
	return closed
}
