package cloud

import (
	"encoding/json"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// TestBalancersServe: pools of services by address and by interface, and pools that only outbound rules use.
func TestBalancersServe(t *testing.T) {
	const nic = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/vm-nic"
	var all Balancers
	if err := json.Unmarshal([]byte(`[{"properties": {"outboundRules": [{"properties": {"backendAddressPool": {"id": "/lb/out"}}}],
		"backendAddressPools": [{"id": "/lb/out", "properties": {"backendIPConfigurations": [{"id": "`+nic+`/ipConfigurations/c"}]}}]}},
		{"properties": {"loadBalancingRules": [{"properties": {"backendAddressPool": {"id": "/LB/ip"}}},
			{"properties": {"backendAddressPools": [{"id": "/lb/nic"}]}}],
		"backendAddressPools": [
			{"id": "/lb/ip", "properties": {"loadBalancerBackendAddresses": [{"properties": {"ipAddress": "10.1.0.4"}}, {"properties": {}}]}},
			{"id": "/lb/nic", "properties": {"backendIPConfigurations": [{"id": "`+nic+`2/ipConfigurations/c"}]}}]}}]`), &all); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		address, id string
		want        bool
	}{
		"by address":                       {"10.1.0.4", nic, true},
		"by interface":                     {"10.1.0.5", nic + "2", true},
		"by interface, in other letters":   {"10.1.0.5", "/SUBSCRIPTIONS" + nic[len("/subscriptions"):] + "2", true},
		"outbound alone":                   {"10.1.0.5", nic, false},
		"another, whose name begins so":    {"10.1.0.40", nic[:len(nic)-1], false},
		"an address that is not known yet": {"", nic, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := all.Serve([]clusterv1.MachineAddress{{Address: test.address}}, test.id); got != test.want {
				t.Errorf("%t", got)
			}
		})
	}
}
