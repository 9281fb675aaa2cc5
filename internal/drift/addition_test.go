package drift

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func TestByCloudProvider(t *testing.T) {
	f := &finder{objects: &objects{cluster: &clusterv1.Cluster{}, nodes: map[string]bool{"win-abcde": true}}}
	f.cluster.Name = "prod"
	for _, test := range []struct {
		list, name string
		want       bool
	}{
		{"securityRules", "k8s-azure-lb_allow_IPv4_0123", true},
		{"securityRules", "a0123456789abcdef0123456789abcde-TCP-80", true},
		{"securityRules", "allow-me", false},
		{"securityRules", "kubernetes-by-hand", false},
		{"securityRules", "win-abcde", false},
		{"loadBalancingRules", "a0123456789abcdef0123456789abcde-TCP-80-Internet", true},
		{"backendAddressPools", "prod", true},
		{"backendAddressPools", "prod-IPv6", true},
		{"backendAddressPools", "other", false},
		{"routes", "win-abcde", true},
		{"routes", "WIN-ABCDE____19216810024", true},
		{"routes", "via-firewall", false},
	} {
		if got := f.byCloudProvider(test.list, element{Name: test.name}); got != test.want {
			t.Errorf("%s of %s: by the cloud provider is %v", test.name, test.list, got)
		}
	}
}

func TestUnder(t *testing.T) {
	for _, test := range []struct {
		resource, of string
		want         bool
	}{{"/a/b", "/a/b", true}, {"/a/b/c/d", "/a/b", true}, {"/a/bc", "/a/b", false}, {"/a", "/a/b", false}} {
		if got := isPartOf(test.resource, test.of); got != test.want {
			t.Errorf("%s is a part of %s: %v", test.resource, test.of, got)
		}
	}
}
