package template

import "testing"

// TestNetworks: networks and their addresses.
func TestNetworks(t *testing.T) {
	holds(t, [][2]string{
		{"[cidrSubnet('10.0.0.0/8', 16, 1)]", `"10.1.0.0/16"`}, {"[cidrHost('10.0.0.0/24', 0)]", `"10.0.0.1"`},
		{"[parseCidr('10.0.0.0/31').lastUsable]", `"10.0.0.0"`},
		{"[parseCidr('10.0.0.0/255.255.0.0').cidr]", "16"}, {"[cidrSubnet('::/0', 64, 1)]", `"0:0:0:1::/64"`},
		{"[parseCidr('x')]", "not valid"},
	})
}
