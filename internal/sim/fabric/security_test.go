package fabric

import (
	"net/netip"
	"testing"
)

func TestEvaluate(t *testing.T) {
	space := []netip.Prefix{prefix("10.0.0.0/8"), prefix("172.16.0.0/16")}
	rule := func(name string, priority int, inbound, allow bool, proto, src, dst, ports string) SecurityRule {
		return SecurityRule{
			Name: name, Priority: priority, Inbound: inbound, Allow: allow, Protocol: proto,
			Sources: []string{src}, Destinations: []string{dst}, SourcePorts: []string{"*"}, DestinationPorts: []string{ports},
		}
	}
	capz := SecurityGroup{ID: "g", Rules: []SecurityRule{
		rule("allow_ssh", 2200, true, true, "tcp", "*", "*", "22"),
		rule("allow_apiserver", 2201, true, true, "tcp", "*", "*", "6443"),
	}}
	strict := SecurityGroup{ID: "s", Rules: []SecurityRule{
		rule("deny-vnet", 300, true, false, "*", "VirtualNetwork", "*", "*"),
		rule("allow-one", 200, true, true, "*", "10.1.0.4", "10.0.0.0/16", "8000-9000"),
		rule("storage", 210, true, true, "*", "Storage", "*", "*"),
		rule("no-out", 100, false, false, "Tcp", "*", "Internet", "443"),
		rule("internet-in", 400, true, true, "Udp", "Internet", "*", "53"),
	}}
	flow := func(proto, src, dst string, port uint16) Flow {
		return Flow{Protocol: proto, Source: ip(src), Destination: ip(dst), DestinationPort: port}
	}
	for _, tt := range []struct {
		name    string
		group   SecurityGroup
		inbound bool
		flow    Flow
		allow   bool
		rule    string
	}{
		{"ssh from the Internet", capz, true, flow("tcp", "127.0.0.1", "10.0.0.4", 22), true, "allow_ssh"},
		{"ssh by UDP", capz, true, flow("udp", "127.0.0.1", "10.0.0.4", 22), false, "DenyAllInBound"},
		{"kubelet from the Internet", capz, true, flow("tcp", "127.0.0.1", "10.0.0.4", 10250), false, "DenyAllInBound"},
		{"kubelet from the network", capz, true, flow("tcp", "10.1.0.4", "10.0.0.4", 10250), true, "AllowVnetInBound"},
		{"from a peer", capz, true, flow("tcp", "172.16.3.3", "10.0.0.4", 10250), true, "AllowVnetInBound"},
		{"probe", capz, true, flow("tcp", "168.63.129.16", "10.0.0.4", 31000), true, "AllowAzureLoadBalancerInBound"},
		{"out to the Internet", capz, false, flow("tcp", "10.0.0.4", "203.0.113.9", 443), true, "AllowInternetOutBound"},
		{"lower number wins", strict, true, flow("tcp", "10.1.0.4", "10.0.0.4", 8000), true, "allow-one"},
		{"beyond the port range", strict, true, flow("tcp", "10.1.0.4", "10.0.0.4", 9001), false, "deny-vnet"},
		{"beyond the destination", strict, true, flow("tcp", "10.1.0.4", "10.1.0.5", 8000), false, "deny-vnet"},
		{"unknown tag matches nothing", strict, true, flow("tcp", "127.0.0.1", "10.0.0.4", 80), false, "DenyAllInBound"},
		{"tag Internet", strict, true, flow("udp", "203.0.113.9", "10.0.0.4", 53), true, "internet-in"},
		{"the probe is not the Internet", strict, true, flow("udp", "168.63.129.16", "10.0.0.4", 53), true,
			"AllowAzureLoadBalancerInBound"},
		{"outbound rule", strict, false, flow("tcp", "10.0.0.4", "203.0.113.9", 443), false, "no-out"},
		{"outbound rule leaves the network alone", strict, false, flow("tcp", "10.0.0.4", "10.1.0.4", 443), true, "AllowVnetOutBound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if v := tt.group.Evaluate(tt.inbound, tt.flow, space); v.Allow != tt.allow || v.Rule != tt.rule {
				t.Errorf("Evaluate = %+v, want %t by %s", v, tt.allow, tt.rule)
			}
		})
	}
}

func TestMatchPort(t *testing.T) {
	for _, tt := range []struct {
		list []string
		port uint16
		want bool
	}{
		{[]string{"*"}, 1, true}, {[]string{"22", "80"}, 80, true}, {[]string{"30000-32767"}, 32767, true},
		{[]string{"30000-32767"}, 32768, false}, {[]string{"nonsense"}, 22, false}, {nil, 22, false}, {[]string{"22-"}, 22, false},
	} {
		if got := matchPort(tt.list, tt.port); got != tt.want {
			t.Errorf("matchPort(%v, %d) = %t", tt.list, tt.port, got)
		}
	}
}
