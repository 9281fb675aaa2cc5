package fabric

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documents are ARM resources in the form of the API, with the mixed case that clients write.
var documents = map[string][]string{
	"Microsoft.Network/networkInterfaces": {`{"id":"/subscriptions/S/resourceGroups/RG/providers/Microsoft.Network/networkInterfaces/vm-nic",
		"properties":{"virtualMachine":{"id":"/subscriptions/S/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/VM"},
		"networkSecurityGroup":{"id":"/S/NSG"},
		"ipConfigurations":[{"name":"pipConfig","properties":{"privateIPAddress":"10.1.0.4",
			"subnet":{"id":"/S/virtualNetworks/V/subnets/Nodes"},"publicIPAddress":{"id":"/S/PIP"},
			"loadBalancerBackendAddressPools":[{"id":"/S/LB/backendAddressPools/P"}],
				"loadBalancerInboundNatRules":[{"id":"/S/LB/inboundNatRules/VM"}]}}]}}`},
	"Microsoft.Network/loadBalancers": {`{"id":"/S/loadBalancers/LB","properties":{
		"frontendIPConfigurations":[{"name":"F","properties":{"publicIPAddress":{"id":"/S/PIP"}}},
			{"id":"/S/loadBalancers/LB/frontendIPConfigurations/I","properties":{"privateIPAddress":"10.0.0.100",
				"subnet":{"id":"/S/virtualNetworks/V/subnets/CP"}}}],
		"backendAddressPools":[{"name":"P","properties":{"loadBalancerBackendAddresses":[
			{"properties":{"ipAddress":"10.1.0.9","virtualNetwork":{"id":"/S/virtualNetworks/V"}}},{"properties":{"ipAddress":""}}]}}],
		"loadBalancingRules":[{"name":"R","properties":{"frontendIPConfiguration":{"id":"/S/loadBalancers/LB/frontendIPConfigurations/F"},
			"backendAddressPool":{"id":"/S/P"},"backendAddressPools":[{"id":"/S/P"}],"probe":{"id":"/S/Probe"},
			"protocol":"Tcp","frontendPort":6443,"backendPort":6443,"enableFloatingIP":true}}],
		"inboundNatRules":[{"name":"VM","properties":{"protocol":"Tcp","frontendPort":2201,"backendPort":22,
			"backendIPConfiguration":{"id":"/S/C"}}}],
		"probes":[{"name":"Probe","properties":{"protocol":"Https","port":6443,"requestPath":"/readyz"}}]}}`},
	"Microsoft.Network/" +
		"networkSecurityGroups": {`{"id":"/S/NSG","properties":{"securityRules":[{"name":"allow_ssh","properties":{"priority":2200,
		"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*","destinationAddressPrefixes":["10.0.0.0/16"],
		"sourcePortRange":"*","destinationPortRanges":["22","3389"]}}]}}`},
	"Microsoft.Network/virtualNetworks": {`{"id":"/S/virtualNetworks/V",
		"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/8","fd00::/48","bad"]},
		"subnets":[{"name":"Nodes","properties":{"addressPrefix":"10.1.0.0/16"}}],
		"virtualNetworkPeerings":[{"properties":{"remoteVirtualNetwork":{"id":"/S/virtualNetworks/W"},"peeringState":"Connected"}},
			{"properties":{"remoteVirtualNetwork":{"id":"/S/virtualNetworks/X"},"peeringState":"Initiated"}}]}}`},
	"Microsoft.Network/virtualNetworks/subnets": {`{"id":"/S/virtualNetworks/V/subnets/Nodes","name":"Nodes",` +
		`"properties":{"addressPrefixes":["10.1.0.0/16"],"networkSecurityGroup":{"id":"/S/NSG"}}}`,
		`{"id":"/S/virtualNetworks/Unknown/subnets/Nodes"}`},
	"Microsoft.Network/publicIPAddresses": {`{"id":"/S/PIP","sku":{"name":"Standard"},` +
		`"properties":{"ipAddress":"127.20.0.1","dnsSettings":{"fqdn":"C.westeurope.cloudapp.azure.com"}}}`},
	"Microsoft.Network/privateDnsZones/A": {
		`{"id":"/S/privateDnsZones/c.capz.io/A/apiserver","properties":{"aRecords":[{"ipv4Address":"10.0.0.100"}]}}`,
		`not JSON`,
	},
	"Microsoft.Network/privateDnsZones/virtualNetworkLinks": {`{"id":"/S/privateDnsZones/C.capz.io/` +
		`virtualNetworkLinks/v","properties":{"virtualNetwork":{"id":"/S/virtualNetworks/V"}}}`},
	"Microsoft.Network/virtualNetworks/virtualNetworkPeerings": {`{"id":"/S/virtualNetworks/V/` +
		`virtualNetworkPeerings/p","properties":{"remoteVirtualNetwork":{"id":"/S/virtualNetworks/W"},` +
		`"peeringState":"Connected"}}`},
}

func TestRead(t *testing.T) {
	asked := map[string]bool{}
	got := Read(func(resourceType string) []json.RawMessage {
		asked[resourceType] = true
		var out []json.RawMessage
		for _, d := range documents[resourceType] {
			out = append(out, json.RawMessage(d))
		}
		return out
	})
	for _, resourceType := range types {
		if !asked[resourceType] {
			t.Errorf("%s was not asked for", resourceType)
		}
	}
	nic := "/subscriptions/s/resourcegroups/rg/providers/microsoft.network/networkinterfaces/vm-nic"
	v := "/s/virtualnetworks/v"
	want := Model{
		Interfaces: []Interface{{
			ID: nic, Machine: "/subscriptions/s/resourcegroups/rg/providers/microsoft.compute/virtualmachines/vm", SecurityGroup: "/s/nsg",
			Configs: []IPConfig{{
				ID: nic + "/ipconfigurations/pipconfig", VNet: v, Subnet: v + "/subnets/nodes", IP: ip("10.1.0.4"), PublicIP: "/s/pip",
				Pools: []string{"/s/lb/backendaddresspools/p"}, NATRules: []string{"/s/lb/inboundnatrules/vm"},
			}},
		}},
		LoadBalancers: []LoadBalancer{{
			ID: "/s/loadbalancers/lb",
			Frontends: []Frontend{
				{ID: "/s/loadbalancers/lb/frontendipconfigurations/f", PublicIP: "/s/pip"},
				{ID: "/s/loadbalancers/lb/frontendipconfigurations/i", VNet: v, IP: ip("10.0.0.100")},
			},
			Pools: []Pool{{ID: "/s/loadbalancers/lb/backendaddresspools/p", Members: []Member{{VNet: v, IP: ip("10.1.0.9")}}}},
			Rules: []LoadBalancingRule{{
				ID:       "/s/loadbalancers/lb/loadbalancingrules/r",
				Frontend: "/s/loadbalancers/lb/frontendipconfigurations/f", Probe: "/s/probe",
				Pools: []string{"/s/p"}, Protocol: "tcp", FrontendPort: 6443, BackendPort: 6443, Floating: true,
			}},
			NATRules: []NATRule{{ID: "/s/loadbalancers/lb/inboundnatrules/vm", Target: "/s/c", Protocol: "tcp",
				FrontendPort: 2201, BackendPort: 22}},
			Probes: []Probe{{ID: "/s/loadbalancers/lb/probes/probe", Protocol: "https", Path: "/readyz", Port: 6443, Threshold: 1}},
		}},
		SecurityGroups: []SecurityGroup{{ID: "/s/nsg", Rules: []SecurityRule{{
			Name: "allow_ssh", Priority: 2200, Inbound: true, Allow: true, Protocol: "tcp", Sources: []string{"*"},
			Destinations: []string{"10.0.0.0/16"}, SourcePorts: []string{"*"}, DestinationPorts: []string{"22", "3389"},
		}}}},
		Networks: []Network{{
			ID: v, Prefixes: []netip.Prefix{prefix("10.0.0.0/8"), prefix("fd00::/48")}, Peers: []string{"/s/virtualnetworks/w"},
			Subnets: []Subnet{{ID: v + "/subnets/nodes", Prefixes: []netip.Prefix{prefix("10.1.0.0/16")}, SecurityGroup: "/s/nsg"}},
		}},
		PublicIPs: []PublicIP{{ID: "/s/pip", IP: ip("127.20.0.1"), FQDN: "c.westeurope.cloudapp.azure.com"}},
		Records:   []Record{{Name: "apiserver.c.capz.io", IPs: []netip.Addr{ip("10.0.0.100")}, Networks: []string{v}}},
	}
	compare := cmp.Options{
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Error(diff)
	}
}

// FuzzRead checks that no content of a document makes reading and following it fail.
func FuzzRead(f *testing.F) {
	for _, list := range documents {
		for _, d := range list {
			f.Add(d)
		}
	}
	f.Fuzz(func(t *testing.T, d string) {
		m := Read(func(string) []json.RawMessage {
			return []json.RawMessage{json.RawMessage(d), json.RawMessage(strings.ToUpper(d))}
		})
		ix := newIndex(m)
		for at := range ix.configs {
			ix.inbound(at, Flow{Protocol: "tcp", Source: internetSource, Destination: at.ip, DestinationPort: 22}, true, false)
			ix.locate(at.vnet, at.ip)
		}
	})
}
