package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestForeignVNet creates a cluster in an existing network that casement does not own. The network
// is not changed, and is not deleted with the cluster.
func TestForeignVNet(t *testing.T) {
	b := newBed(t)
	vnet := b.group().Network("virtualNetworks", "theirs")
	b.put(b.group().ID(), `{"location": "westeurope"}`)
	b.put(vnet, `{"location": "westeurope", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/8"]},
		"subnets": [{"name": "cp", "properties": {"addressPrefix": "10.0.0.0/16"}}, {"name": "nodes",
			"properties": {"addressPrefix": "10.1.0.0/16"}}]}}`)
	b.azureC.Spec.NetworkSpec.Vnet.Name = "theirs"
	controlPlane, node := infrav1.SubnetSpec{}, infrav1.SubnetSpec{}
	controlPlane.Name, controlPlane.Role = "cp", infrav1.SubnetControlPlane
	node.Name, node.Role = "nodes", infrav1.SubnetNode
	b.azureC.Spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{controlPlane, node}

	mark := b.azure.mark()
	b.provision()
	if diff := cmp.Diff(map[string]int{"PUT publicIPAddresses": 1, "PUT loadBalancers": 1}, b.azure.writes(mark, b.name)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	m := b.machine("worker-0", "Linux", false)
	b.create(m)
	b.running(m)
	b.delete(m)
	b.gone(m)
	b.delete(b.azureC)
	b.gone(b.azureC)
	if !b.exists(vnet) || !b.exists(vnet+"/subnets/nodes") {
		t.Error("the foreign network is gone")
	}
	for _, id := range b.azure.left(b.name) {
		if !strings.Contains(strings.ToLower(id), "virtualnetworks/theirs") && !strings.HasSuffix(strings.ToLower(id), "/"+b.name) {
			t.Errorf("left in Azure: %s", id)
		}
	}
}

// TestMissingForeignSubnet checks that the message names the subnet that the network's owner has to
// create.
func TestMissingForeignSubnet(t *testing.T) {
	b := newBed(t)
	vnet := b.group().Network("virtualNetworks", "theirs")
	b.put(b.group().ID(), `{"location": "westeurope"}`)
	b.put(vnet, `{"location": "westeurope", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}, "subnets": []}}`)
	b.azureC.Spec.NetworkSpec.Vnet.Name = "theirs"
	b.create(b.azureC)
	b.eventually(b.azureC, func() string {
		if !strings.Contains(show(b.azureC), "spec.networkSpec.subnets[0]") {
			return "the missing subnet is not named"
		}
		return ""
	})
}
