package integration

import (
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestPeeringWithoutPeer peers with a network that does not exist, which only Azure can refuse. The
// cluster reports the refusal and continues when the network exists.
func TestPeeringWithoutPeer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.azureC.Spec.NetworkSpec.Vnet.Peerings = []infrav1.VnetPeeringSpec{{RemoteVnetName: "hub-vnet", ResourceGroup: b.name + "-hub"}}
	b.create(b.azureC)
	b.eventually(b.azureC, func() string {
		ready := conditions.Get(b.azureC, clusterv1.ReadyCondition)
		if ready == nil || conditions.GetReason(b.azureC, infrav1.VnetPeeringReadyCondition) != ready.Reason ||
			!strings.Contains(ready.Message, "hub-vnet") {
			return "Azure's refusal is not reported"
		}
		return ""
	})
	t.Log(conditions.Get(b.azureC, clusterv1.ReadyCondition).Message)
	hub := b.group()
	hub.Name += "-hub"
	b.put(hub.ID(), `{"location": "westeurope"}`)
	b.put(hub.Network("virtualNetworks", "hub-vnet"),
		`{"location": "westeurope", "properties": {"addressSpace": {"addressPrefixes": ["172.16.0.0/16"]}}}`)
	b.eventually(b.azureC, func() string {
		if !b.azureC.Status.Ready {
			return "does not recover"
		}
		return ""
	})
	b.delete(b.azureC)
	b.gone(b.azureC)
	if !b.exists(hub.Network("virtualNetworks", "hub-vnet")) {
		t.Error("the peer is gone")
	}
	if peering := hub.Network("virtualNetworks", "hub-vnet", "virtualNetworkPeerings", "hub-vnet-To-"+b.name+"-vnet"); b.exists(peering) {
		t.Error("the peer's half of the peering is left")
	}
}

// TestGuestFailsToProvision checks that a machine whose guest fails to provision fails with Azure's
// message, and that its resources are deleted with it.
func TestGuestFailsToProvision(t *testing.T) {
	b := newBed(t)
	b.provision()
	m := b.machine(brokenVM+"0", "Linux", false)
	b.create(m)
	b.givenUp(m, "CreateError")
	if message := *m.Status.FailureMessage; !strings.Contains(message, "OSProvisioning") ||
		!strings.Contains(message, "custom data cannot be read") {
		t.Errorf("message %q", message)
	}
	if m.Status.Ready || m.Status.Initialization.Provisioned != nil {
		t.Error("a failed machine is provisioned")
	}
	b.delete(m)
	b.gone(m)
	if vm := b.group().Compute("virtualMachines", m.Name); b.exists(vm) {
		t.Error("the virtual machine is left")
	}
}
