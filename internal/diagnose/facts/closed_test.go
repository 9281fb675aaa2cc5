package facts

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestBlocked: only what is attached to a subnet of the way is judged, and only what covers its addresses.
func TestBlocked(t *testing.T) {
	rule := func(name, direction, access, source, target, ports string, priority int) string {
		return fmt.Sprintf(`{"name":%q,"properties":{"access":%q,"direction":%q,"protocol":"Tcp","sourceAddressPrefix":%q,
			"destinationAddressPrefix":%q,"destinationPortRange":%q,"priority":%d}}`, name, access, direction, source, target, ports, priority)
	}
	allow := rule("allow", "Inbound", "Allow", "*", "*", "6443", 2201)
	for name, test := range map[string]struct {
		cp, node, foreign, route string
		pool                     string
		blocked, unknown         string
	}{
		"casement's own": {cp: allow, pool: `{}`},
		"a rule before it": {cp: allow + "," + rule("corp", "Inbound", "Deny", "*", "*", "6000-7000", 100), pool: `{}`,
			blocked: "security rule corp of cp"},
		"a rule after it":        {cp: allow + "," + rule("all", "Inbound", "Deny", "*", "*", "*", 4000), pool: `{}`},
		"of addresses elsewhere": {cp: rule("lock", "Inbound", "Deny", "203.0.113.0/24", "*", "*", 100) + "," + allow, pool: `{}`},
		"of the nodes' addresses": {cp: rule("lock", "Inbound", "Deny", "10.1.0.0/16", "*", "*", 100) + "," + allow,
			pool: `{}`, blocked: "denies port 6443 from 10.1.0.0/16"},
		"of another port": {cp: rule("web", "Inbound", "Deny", "*", "*", "80", 100) + "," + allow, pool: `{}`},
		"out of the nodes": {cp: allow, node: rule("out", "Outbound", "Deny", "*", "10.0.0.0/16", "*", 100), pool: `{}`,
			blocked: "security rule out of node (Outbound"},
		"somebody else's group": {cp: allow, foreign: rule("guests", "Inbound", "Deny", "*", "*", "*", 100), pool: `{}`},
		"a hole": {cp: allow,
			route: `{"name":"hole","properties":{"addressPrefix":"10.0.0.0/16","nextHopType":"None"}}`, pool: `{}`,
			blocked: "route hole of rt (subnet node) drops what goes to 10.0.0.0/16"},
		"a hole elsewhere": {cp: allow,
			route: `{"name":"hole","properties":{"addressPrefix":"172.16.0.0/12","nextHopType":"None"}}`, pool: `{}`},
		"the network's route wins": {cp: allow,
			route: `{"name":"def","properties":{"addressPrefix":"0.0.0.0/0","nextHopType":"None"}}`, pool: `{}`},
		"an appliance": {cp: allow,
			route: `{"name":"fw","properties":{"addressPrefix":"10.0.0.0/16","nextHopType":"VirtualAppliance","nextHopIpAddress":"10.9.0.4"}}`,
			pool:  `{}`, unknown: "10.9.0.4"},
		"a pool that was emptied": {cp: allow, blocked: "backend pool cp of load balancer lb, for port 6443, has no member"},
	} {
		t.Run(name, func(t *testing.T) {
			group := func(name, rules string) json.RawMessage {
				return json.RawMessage(`{"id":"/nsg/` + name + `","name":"` + name + `","properties":{"securityRules":[` + rules + `]}}`)
			}
			n := Network{Vnet: "v", ControlPlane: []string{"cp"}, Port: 6443,
				Vnets: []json.RawMessage{json.RawMessage(`{"name":"v","properties":{"subnets":[
					{"name":"cp","properties":{"addressPrefix":"10.0.0.0/16","networkSecurityGroup":{"id":"/nsg/cp"}}},
					{"name":"node","properties":{"addressPrefix":"10.1.0.0/16","networkSecurityGroup":{"id":"/NSG/node"},"routeTable":{"id":"/rt"}}}]}}`)},
				Groups: []json.RawMessage{group("cp", test.cp), group("node", test.node), group("foreign", test.foreign), json.RawMessage(`"x"`)},
				Tables: []json.RawMessage{json.RawMessage(`{"id":"/rt","name":"rt","properties":{"routes":[` + test.route + `]}}`)},
				Balancers: []json.RawMessage{json.RawMessage(`{"name":"lb","properties":{"backendAddressPools":[{"name":"cp","properties":{
					"backendIPConfigurations":[` + test.pool + `]}}],
					"loadBalancingRules":[{"properties":{"backendPort":6443,"backendAddressPool":{"id":"/lb/cp"}}}]}}`)},
			}
			blocked, unknown := n.Blocked()
			for what, pair := range map[string][2]string{"blocked": {strings.Join(blocked, "; "+
				""), test.blocked}, "unknown": {strings.Join(unknown, "; "), test.unknown}} {
				if (pair[0] == "") != (pair[1] == "") || !strings.Contains(pair[0], pair[1]) {
					t.Errorf("%s: got %q, want %q", what, pair[0], pair[1])
				}
			}
		})
	}
}
