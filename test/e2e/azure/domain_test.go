package main

import (
	"strings"
	"testing"
)

// TestDomain checks that the settings of a domain are either complete or refused as incomplete, and
// that each cluster without a pod in the domain has a reason.
func TestDomain(t *testing.T) {
	whole := map[string]string{"DOMAIN_NAME": "corp.example", "DOMAIN_SID": "S-1-5-21-1-2-3", "DOMAIN_GUID": "g",
		"DOMAIN_DNS_SERVERS":     "10.1.0.4",
		"DOMAIN_JOIN_SECRET_URL": "https://v/secrets/join", "GMSA_IDENTITY_ID": "id", "GMSA_ACCOUNT": "WebApp1", "DOMAIN_NETWORK": "shared/net"}
	for _, test := range []struct{ name, change, to, want string }{
		{name: "whole"},
		{"none", "DOMAIN_NAME", "", ""},
		{"no SID", "DOMAIN_SID", "", "DOMAIN_SID is not"},
		{"no account", "GMSA_ACCOUNT", "", "GMSA_ACCOUNT is not"},
		{"a network without its group", "DOMAIN_NETWORK", "net", "GROUP/NAME"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := domainOf(func(name string) string {
				if name == test.change {
					return test.to
				}
				return whole[name]
			}).check()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	joined := &client{s: settings{domain: domainOf(func(name string) string { return whole[name] })}}
	for _, test := range []struct {
		name string
		life life
		want string
	}{
		{"machines and a domain", life{client: joined, cluster: clusters[0]}, ""},
		{"pools and a domain", life{client: joined, cluster: clusters[1]}, "machine pool"},
		{"no domain", life{client: &client{}, cluster: clusters[0]}, "DOMAIN_NAME is not set"},
	} {
		if got := whyNoDomain(&test.life); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestPeer checks that the cluster's network gets separate addresses and a peering, and that the
// manifest is otherwise unchanged.
func TestPeer(t *testing.T) {
	const manifest = `kind: Cluster
metadata:
    name: demo
---
kind: AzureCluster
spec:
    networkSpec:
        subnets:
            - name: control-plane-subnet
              role: control-plane
            - name: node-subnet
              role: node
        vnet:
            name: demo-vnet
`
	got, err := domain{group: "shared", network: "net"}.peer(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"name: demo\n", "- 172.28.0.0/16", "- 172.28.0.0/24", "- 172.28.1.0/24", "remoteVnetName: net",
		"resourceGroup: shared", "name: demo-vnet", "role: control-plane"} {
		if !strings.Contains(got, want) {
			t.Errorf("it has no %q:\n%s", want, got)
		}
	}
	if same, err := (domain{}).peer(manifest); err != nil || same != manifest {
		t.Errorf("without a network: %v\n%s", err, same)
	}
}
