package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/adopt"
	"casement.dev/casement/internal/azure/desired"
)

// TestAdoptPool adopts a cluster that CAPZ v1.26 created, with a pool of each orchestration mode.
// No instance is replaced and casement writes nothing to Azure. The pool can then be scaled up, and
// the existing instances stay.
func TestAdoptPool(t *testing.T) {
	t.Parallel()
	for _, mode := range []infrav1.OrchestrationMode{infrav1.UniformOrchestrationMode, infrav1.FlexibleOrchestrationMode} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBed(t)
			b.change(b.cluster, func() { b.cluster.Spec.Paused = new(true) })
			b.create(b.azureC)
			b.azureAsOfCAPZ(b.group().Compute("virtualMachines", "not-in-the-pool"))
			p := b.pool("adopt-mp-win", "Windows", mode, 2)
			instances := p.scaleSetAsOfCAPZ("win-p-win", mode)
			p.objectsAsOfCAPZ("win-p-win", instances)
			b.change(b.azureC, func() { b.azureC.Finalizers = []string{infrav1.ClusterFinalizer} })
			b.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
			if err := b.client.Status().Update(t.Context(), b.cluster); err != nil {
				t.Fatal(err)
			}
			before := p.uids()
			if len(before) != 2 {
				t.Fatalf("%d instances as of CAPZ: %v", len(before), before)
			}

			a, key := adopt.Adopter{Client: b.client}, client.ObjectKeyFromObject(b.cluster)
			mark := b.azure.mark()
			plan := b.observe(a, key)
			if plan.Pools != 1 || len(plan.Refusals) > 0 {
				t.Fatalf("%+v", plan)
			}
			if err := plan.Apply(t.Context(), func(adopt.Change) {}); err != nil {
				t.Fatal(err)
			}
			b.change(b.cluster, func() { b.cluster.Spec.Paused = nil })
			p.settled()
			b.onlyMarked(mark)
			if diff := cmp.Diff(before, p.uids()); diff != "" {
				t.Errorf("instances or their objects were replaced (-before +after):\n%s", diff)
			}
			if rest := b.observe(a, key); len(rest.Changes) > 0 {
				t.Errorf("a second run would %+v", rest.Changes)
			}

			p.scale(3)
			p.settled()
			after := p.uids()
			if len(after) != 3 {
				t.Errorf("%d instances after growing to 3", len(after))
			}
			for id, uid := range before {
				if after[id] != uid {
					t.Errorf("growing replaced %s", id)
				}
			}
		})
	}
}

// uids returns the UIDs of the AzureMachinePoolMachines and Machines by provider ID.
func (p *pool) uids() map[string][2]types.UID {
	p.t.Helper()
	machines, out := p.machines(), map[string][2]types.UID{}
	for _, m := range p.shown() {
		uids := [2]types.UID{m.UID}
		if machine := machines[m.Name]; machine != nil {
			uids[1] = machine.UID
		}
		out[m.Spec.ProviderID] = uids
	}
	return out
}

// scaleSetAsOfCAPZ creates the scale set with the request body that CAPZ v1.26 sends, and returns the IDs of its
// instances.
func (p *pool) scaleSetAsOfCAPZ(name string, mode infrav1.OrchestrationMode) []string {
	p.t.Helper()
	set, ofMode, network := p.group().Compute("virtualMachineScaleSets", name),
		`"upgradePolicy": {"mode": "Manual"}, "overprovision": false,`, ""
	if mode == infrav1.FlexibleOrchestrationMode {
		ofMode, network = `"platformFaultDomainCount": 1,`, `"networkApiVersion": "2020-11-01",`
	}
	fill := strings.NewReplacer("LOCATION", location, "CLUSTER", p.name, "NAME", name, "MODE", string(mode),
		"OF_IT", ofMode, "NET_API", network,
		"SUBNET", p.group().ID()+"/providers/Microsoft.Network/virtualNetworks/"+p.name+"-vnet/subnets/"+p.name+"-node-subnet")
	p.put(set, fill.Replace(`{"location": "LOCATION", "sku": {"name": "Standard_D2s_v3", "tier": "Standard", "capacity": 2},
		"tags": {"sigs.k8s.io_cluster-api-provider-azure_cluster_CLUSTER": "owned",
			"sigs.k8s.io_cluster-api-provider-azure_role": "node", "Name": "NAME",
			"kubernetes.io_cluster_CLUSTER": "owned", "capz-custom-data-hash": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"},
		"properties": {"orchestrationMode": "MODE", "singlePlacementGroup": false, OF_IT "virtualMachineProfile": {
			"osProfile": {"computerNamePrefix": "NAME", "adminUsername": "capi", "adminPassword": "Not-a-real-one-1",
				"customData": "IyB3YXM=", "windowsConfiguration": {"enableAutomaticUpdates": false}},
			"storageProfile": {"imageReference": {
				"communityGalleryImageId":
					"/CommunityGalleries/ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/Images/capi-win-2022-containerd/Versions/1.34.2"},
				"osDisk": {"osType": "Windows", "diskSizeGB": 128, "createOption": "FromImage", "caching": "None",
					"managedDisk": {"storageAccountType": "Premium_LRS"}}},
			"diagnosticsProfile": {"bootDiagnostics": {"enabled": true}},
			"networkProfile": {NET_API "networkInterfaceConfigurations": [{"name": "NAME-nic-0",
				"properties": {"primary": true, "enableAcceleratedNetworking": true, "enableIPForwarding": true,
				"ipConfigurations": [{"name": "ipConfig0", "properties": {"primary": true,
					"privateIPAddressVersion": "IPv4", "subnet": {"id": "SUBNET"}}}]}}]}}}}`))
	if mode != infrav1.FlexibleOrchestrationMode {
		return []string{set + "/virtualMachines/0", set + "/virtualMachines/1"}
	}
	var ids []string
	for _, id := range p.bed.azure.left(p.name) {
		if strings.Contains(strings.ToLower(id), "/virtualmachines/"+name+"_") {
			ids = append(ids, id)
		}
	}
	return ids
}

// objectsAsOfCAPZ creates the objects that CAPZ writes for a pool whose instances all run.
func (p *pool) objectsAsOfCAPZ(set string, instances []string) {
	p.t.Helper()
	var ids []string
	statuses := []left{{"AzureMachinePool", p.azure.Name, map[string]any{
		"ready": true, "replicas": len(instances), "provisioningState": "Succeeded", "infrastructureMachineKind": "AzureMachinePoolMachine",
		"conditions": []any{
			trueAsOfCAPZ("Ready"), trueAsOfCAPZ("BootstrapSucceeded"), trueAsOfCAPZ("ScaleSetDesiredReplicas"),
			trueAsOfCAPZ("ScaleSetModelUpdated"), trueAsOfCAPZ("ScaleSetRunning"),
		},
	}}}
	for i, id := range instances {
		number := id[strings.LastIndex(id, "/")+1:]
		name := p.azure.Name + "-" + strings.ReplaceAll(number, "_", "-")
		m := &infrav1.AzureMachinePoolMachine{ObjectMeta: p.meta(name),
			Spec: infrav1.AzureMachinePoolMachineSpec{ProviderID: desired.ProviderID(id), InstanceID: number}}
		m.Labels = map[string]string{
			clusterv1.ClusterNameLabel: p.name, clusterv1.MachinePoolNameLabel: p.machinePool.Name, p.name: "owned",
		}
		m.Finalizers = []string{infrav1.MachinePoolMachineFinalizer}
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(),
			Kind: "AzureMachinePool", Name: p.azure.Name, UID: p.azure.UID, BlockOwnerDeletion: new(true)}}
		p.create(m)
		m.Status.InstanceName = fmt.Sprintf("%s%06d", set, i)
		p.join(m)
		ids = append(ids, m.Spec.ProviderID)
		statuses = append(statuses, left{"AzureMachinePoolMachine", name, map[string]any{
			"ready": true, "latestModelApplied": true, "provisioningState": "Succeeded",
			"instanceName": m.Status.InstanceName, "version": olderVersion,
			"nodeRef":    map[string]any{"name": strings.ToLower(m.Status.InstanceName), "kind": "Node", "apiVersion": "v1"},
			"conditions": []any{trueAsOfCAPZ("Ready"), trueAsOfCAPZ("NodeHealthy")},
		}})
	}
	slices.Sort(ids)
	p.change(p.azure, func() {
		p.azure.Finalizers = []string{infrav1.MachinePoolFinalizer}
		p.azure.Annotations["sigs.k8s.io/cluster-api-provider-azure-last-applied-tags-vmss"] = "{}"
		p.azure.Spec.ProviderID, p.azure.Spec.ProviderIDList = desired.ProviderID(p.group().Compute("virtualMachineScaleSets", set)), ids
	})
	p.statusAsOfCAPZ(nil, statuses)
}
