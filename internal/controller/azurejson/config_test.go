package azurejson

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/testing/golden"
)

func cluster() *infrav1.AzureCluster {
	c := &infrav1.AzureCluster{}
	c.Name = "win"
	c.Spec.SubscriptionID, c.Spec.Location, c.Spec.ResourceGroup = "sub", "westeurope", "win"
	c.Spec.AzureEnvironment = "AzurePublicCloud"
	c.Spec.NetworkSpec.Vnet.Name = "win-vnet"
	controlPlane := infrav1.SubnetSpec{SecurityGroup: infrav1.SecurityGroup{Name: "win-controlplane-nsg"}}
	controlPlane.Name, controlPlane.Role = "cp", infrav1.SubnetControlPlane
	node := infrav1.SubnetSpec{SecurityGroup: infrav1.SecurityGroup{Name: "win-node-nsg"},
		RouteTable: infrav1.RouteTable{Name: "win-node-routetable"}}
	node.Name, node.Role = "nodes", infrav1.SubnetNode
	c.Spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{controlPlane, node}
	return c
}

func TestRenderGolden(t *testing.T) {
	overridden := cluster()
	overridden.Spec.NetworkSpec.Vnet.ResourceGroup = "hub"
	overridden.Spec.NetworkSpec.NodeOutboundLB = &infrav1.LoadBalancerSpec{Name: "win"}
	overridden.Spec.ExtendedLocation = &infrav1.ExtendedLocationSpec{Name: "losangeles", Type: "EdgeZone"}
	qps := resource.MustParse("6.5")
	overridden.Spec.CloudProviderConfigOverrides = &infrav1.CloudProviderConfigOverrides{
		RateLimits: []infrav1.RateLimitSpec{
			{Name: "defaultRateLimit", Config: infrav1.RateLimitConfig{
				CloudProviderRateLimit: true, CloudProviderRateLimitQPS: &qps, CloudProviderRateLimitBucket: 20,
			}},
			{Name: "virtualMachineSizesRateLimit", Config: infrav1.RateLimitConfig{CloudProviderRateLimitBucketWrite: 5}},
		},
		BackOffs: infrav1.BackOffConfig{CloudProviderBackoff: true, CloudProviderBackoffRetries: 6},
	}
	for _, test := range []struct {
		name string
		in   input
	}{
		{"none", input{cluster: cluster(), tenantID: "tenant", identity: infrav1.VMIdentityNone, clientID: "client",
			clientSecret: "not-a-secret"}},
		{"system-assigned", input{cluster: cluster(), tenantID: "tenant",
			identity: infrav1.VMIdentitySystemAssigned, clientID: "unused", clientSecret: "unused"}},
		{"user-assigned-overridden", input{cluster: overridden, tenantID: "tenant",
			identity: infrav1.VMIdentityUserAssigned, userAssignedClientID: "msi"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := render(test.in)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", test.name+".golden.json"), append(got, '\n'))
		})
	}
}

func TestRenderRefusesUnknownRateLimit(t *testing.T) {
	c := cluster()
	c.Spec.CloudProviderConfigOverrides = &infrav1.CloudProviderConfigOverrides{RateLimits: []infrav1.RateLimitSpec{{Name: "wish"}}}
	if _, err := render(input{cluster: c}); err == nil {
		t.Error("a rate limit that does not exist is taken")
	}
}
