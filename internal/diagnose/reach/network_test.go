package reach

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestBlocked: only resources that are attached to a subnet on the path are examined, and only rules for its addresses.
func TestBlocked(t *testing.T) {
	rule := func(name, direction, access, source, target, ports string, priority int) string {
		return fmt.Sprintf(`{"name":%q,"properties":{"access":%q,"direction":%q,"protocol":"Tcp","sourceAddressPrefix":%q,
			"destinationAddressPrefix":%q,"destinationPortRange":%q,"priority":%d}}`, name, access, direction, source, target, ports, priority)
	}
	const appliance = `{"name":"fw","properties":{"addressPrefix":"10.0.0.0/16","nextHopType":"VirtualAppliance",` +
		`"nextHopIpAddress":"10.9.0.5"}}`
	private := func(n *Network) {
		n.Host, n.Zone = "apiserver.demo.capz.io", "demo.capz.io"
		n.Links = []json.RawMessage{json.RawMessage(`{"name":"v-link","properties":{"virtualNetwork":{"id":"/vnets/V"}}}`)}
		n.Records = []json.RawMessage{json.RawMessage(`{"name":"apiserver","properties":{"aRecords":[{"ipv4Address":"10.0.0.100"}]}}`)}
	}
	allow := rule("allow", "Inbound", "Allow", "*", "*", "6443", 2201)
	for name, test := range map[string]struct {
		cp, node, foreign, route string
		pool                     string
		// nic are the rules of a group on the control plane's interface; change makes other changes.
		nic              string
		change           func(*Network)
		blocked, unknown string
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
			pool:  `{}`, unknown: "which no interface or load balancer of the subscription has"},
		"an appliance that does not run": {cp: allow, route: appliance, pool: `{}`, change: func(n *Network) {
			n.Off = map[string]string{"/vm/fw": "deallocated"}
		}, blocked: "its virtual machine FW is deallocated"},
		"an appliance that runs": {cp: allow, route: appliance, pool: `{}`, unknown: "interface fw-nic: whether it forwards"},
		"an appliance that does not forward": {cp: allow, route: strings.ReplaceAll(appliance, "10.9.0.5", "10.9.0.6"), pool: `{}`,
			blocked: "enableIPForwarding false"},
		"an interface without a machine": {cp: allow, route: strings.ReplaceAll(appliance, "10.9.0.5", "10.9.0.7"), pool: `{}`,
			blocked: "belongs to no virtual machine"},
		"a group on the interface": {cp: allow, nic: rule("corp", "Inbound", "Deny", "*", "*", "6443", 100), pool: `{}`,
			blocked: "on interface cp-nic"},
		"a group on the interface that lets in":    {cp: allow, nic: rule("ok", "Inbound", "Allow", "*", "*", "*", 100), pool: `{}`},
		"a group of its own that lets the port in": {cp: allow, pool: `{}`, change: func(n *Network) { n.Public = true }},
		"a group that lets nothing in": {cp: rule("web", "Inbound", "Allow", "*", "*", "443", 100), pool: `{}`,
			change: func(n *Network) { n.Public = true }, blocked: "the default rule DenyAllInBound denies it"},
		"a group that lets the network in alone": {cp: rule("vnet", "Inbound", "Allow", "VirtualNetwork", "*", "*", 100), pool: `{}`,
			change: func(n *Network) { n.Public = true }, blocked: "DenyAllInBound"},
		"a group that lets nothing in, of a private cluster": {cp: rule("web", "Inbound", "Allow", "*", "*", "443", 100), pool: `{}`},
		"a group that lets some in": {cp: rule("office", "Inbound", "Allow", "203.0.113.0/24", "*", "6443", 100), pool: `{}`,
			change: func(n *Network) { n.Public = true }, unknown: "lets only 203.0.113.0/24 in"},
		"a rule against the probe": {cp: rule("lb", "Inbound", "Deny", "AzureLoadBalancer", "*", "*", 100) + "," + allow, pool: `{}`,
			blocked: "from the load balancer's probe"},
		"a probe of another port": {cp: allow, pool: `{}`, change: func(n *Network) {
			n.Balancers = []json.RawMessage{json.RawMessage(`{"name":"lb","properties":{"probes":[{"name":"p","properties":{"port":6444}}],
				"backendAddressPools":[{"name":"cp","properties":{"backendIPConfigurations":[{}]}}],
				"loadBalancingRules":[{"properties":{"backendPort":6443,"backendAddressPool":{"id":"/lb/cp"},"probe":{"id":"/lb/p"}}}]}}`)}
		}, blocked: "asks port 6444"},
		"no rule for the port": {cp: allow, pool: `{}`, change: func(n *Network) {
			n.Balancer, n.Balancers = "lb", []json.RawMessage{json.RawMessage(`{"name":"lb","properties":{"loadBalancingRules":[]}}`)}
		}, blocked: "load balancer lb has no rule for port 6443"},
		"a rule for all ports": {cp: allow, pool: `{}`, change: func(n *Network) {
			n.Balancer, n.Balancers = "lb", []json.RawMessage{json.RawMessage(
				`{"name":"lb","properties":{"loadBalancingRules":[{"properties":{"backendPort":0}}]}}`)}
		}},
		"a pool of somebody else's": {cp: allow, change: func(n *Network) { n.Balancer = "mine" }},
		"a zone without a link": {cp: allow, pool: `{}`, change: func(n *Network) {
			private(n)
			n.Links = []json.RawMessage{json.RawMessage(`{"name":"x","properties":{"virtualNetwork":{"id":"/vnets/other"}}}`)}
		}, blocked: "none to virtual network v"},
		"a zone with a link": {cp: allow, pool: `{}`, change: private},
		"a zone without a record": {cp: allow, pool: `{}`, change: func(n *Network) { private(n); n.Records = nil },
			blocked: "no address record apiserver"},
		"no zone":                 {cp: allow, pool: `{}`, change: func(n *Network) { private(n); n.Absent = true }, blocked: "does not exist"},
		"a pool that was emptied": {cp: allow, blocked: "backend pool cp of load balancer lb, for port 6443, has no member"},
	} {
		t.Run(name, func(t *testing.T) {
			group := func(name, rules string) json.RawMessage {
				return json.RawMessage(`{"id":"/nsg/` + name + `","name":"` + name + `","properties":{"securityRules":[` + rules + `]}}`)
			}
			n := Network{Vnet: "v", ControlPlane: []string{"cp"}, Port: 6443,
				Vnets: []json.RawMessage{json.RawMessage(`{"name":"v","properties":{"subnets":[
					{"id":"/s/cp","name":"cp","properties":{"addressPrefix":"10.0.0.0/16","networkSecurityGroup":{"id":"/nsg/cp"}}},
					{"id":"/s/node","name":"node","properties":{"addressPrefix":"10.1.0.0/16","networkSecurityGroup":{"id":"/NSG/node"},
						"routeTable":{"id":"/rt"}}}]}}`)},
				Groups: []json.RawMessage{group("cp", test.cp), group("node", test.node), group("foreign", test.foreign), json.RawMessage(`"x"`),
					group("nic", test.nic)},
				Interfaces: []json.RawMessage{
					json.RawMessage(`{"name":"fw-nic","properties":{"virtualMachine":{"id":"/vm/FW"},"enableIPForwarding":true,
						"ipConfigurations":[{"properties":{"privateIPAddress":"10.9.0.5"}}]}}`),
					json.RawMessage(`{"name":"pc-nic","properties":{"virtualMachine":{"id":"/vm/pc"},
						"ipConfigurations":[{"properties":{"privateIPAddress":"10.9.0.6"}}]}}`),
					json.RawMessage(`{"name":"left-nic","properties":{"ipConfigurations":[{"properties":{"privateIPAddress":"10.9.0.7"}}]}}`),
					json.RawMessage(`{"name":"cp-nic","properties":{"networkSecurityGroup":{"id":"/nsg/nic"},
						"ipConfigurations":[{"properties":{"privateIPAddress":"10.0.0.4","subnet":{"id":"/S/cp"}}}]}}`)},
				Tables: []json.RawMessage{json.RawMessage(`{"id":"/rt","name":"rt","properties":{"routes":[` + test.route + `]}}`)},
				Balancers: []json.RawMessage{json.RawMessage(`{"name":"lb","properties":{"backendAddressPools":[{"name":"cp","properties":{
					"backendIPConfigurations":[` + test.pool + `]}}],
					"loadBalancingRules":[{"properties":{"backendPort":6443,"backendAddressPool":{"id":"/lb/cp"}}}]}}`)},
			}
			if test.nic == "" {
				n.Interfaces = n.Interfaces[:3]
			}
			if test.change != nil {
				test.change(&n)
			}
			blocked, unknown := n.Blocked()
			var lines []string
			for _, b := range blocked {
				lines = append(lines, b.Line)
			}
			for what, pair := range map[string][2]string{"blocked": {strings.Join(lines, "; "), test.blocked},
				"unknown": {strings.Join(unknown, "; "), test.unknown}} {
				if (pair[0] == "") != (pair[1] == "") || !strings.Contains(pair[0], pair[1]) {
					t.Errorf("%s: got %q, want %q", what, pair[0], pair[1])
				}
			}
		})
	}
}
