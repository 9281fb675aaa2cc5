package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/drift"
)

// drifts returns the drift of the cluster, and a text with one finding in each line.
func (b *bed) drifts() (*drift.Report, string) {
	b.t.Helper()
	report, err := drift.Find(b.t.Context(), drift.Input{
		Kube: b.client, Azure: b.azure.client, Cluster: client.ObjectKeyFromObject(b.cluster), Since: time.Now().Add(-time.Hour),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range report.Findings {
		fmt.Fprintf(&out, "%s %s (%s): %s; %s\n", f.Kind, f.Name(), f.Object, f.What, f.Then)
	}
	return report, out.String()
}

// edit changes a resource in Azure without the manager.
func (b *bed) edit(id string, f func(map[string]any)) {
	b.t.Helper()
	live, err := b.azure.client.Get(b.t.Context(), id, desired.APIVersion(arm.TypeOf(id)))
	if err != nil {
		b.t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(live, &doc); err != nil {
		b.t.Fatal(err)
	}
	f(doc)
	body, err := json.Marshal(doc)
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(id, string(body))
}

func properties(doc map[string]any) map[string]any {
	p, _ := doc["properties"].(map[string]any)
	return p
}

// TestDrift checks that a cluster that was not changed has no drift, that everything that a person
// changes, adds or removes is found together with the person's name, and that nothing is written.
func TestDrift(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	for name, os := range map[string]string{"lin": "Linux", "win": "Windows", "control": "Linux"} {
		m := b.machine(name, os, name == "control")
		b.create(m)
		b.running(m)
	}
	pools := []*pool{b.pool("uniform", "Linux", infrav1.UniformOrchestrationMode, 1),
		b.pool("flexible", "Windows", infrav1.FlexibleOrchestrationMode, 1)}
	for _, p := range pools {
		p.settled()
	}
	if report, found := b.drifts(); found != "" || report.Compared < 15 || len(report.Notes) > 0 {
		t.Fatalf("%d resources that was not touched differ: %v\n%s", report.Compared, report.Notes, found)
	}

	b.nodeIs("lin", metav1.ConditionTrue, clusterv1.MachineNodeReadyReason)

	// The manager would repair some of the drift, so it is paused.
	b.change(b.cluster, func() { b.cluster.Spec.Paused = new(true) })
	group := b.group()
	nsg := group.Network("networkSecurityGroups", b.name+"-node-nsg")
	b.edit(nsg, func(doc map[string]any) {
		rules, _ := properties(doc)["securityRules"].([]any)
		properties(doc)["securityRules"] = append(rules, map[string]any{"name": "rdp-for-me", "properties": map[string]any{
			"access": "Allow", "direction": "Inbound", "protocol": "Tcp", "priority": 300, "sourceAddressPrefix": "*", "sourcePortRange": "*",
			"destinationAddressPrefix": "*", "destinationPortRange": "3389",
		}})
	})
	b.edit(group.Network("networkSecurityGroups", b.name+"-controlplane-nsg"), func(doc map[string]any) {
		rules, _ := properties(doc)["securityRules"].([]any)
		for _, rule := range rules {
			if rule, ok := rule.(map[string]any); ok && rule["name"] == "allow_ssh" {
				properties(rule)["access"] = "Deny"
			}
		}
	})
	b.edit(group.Network("routeTables", b.name+"-node-routetable"), func(doc map[string]any) {
		properties(doc)["routes"] = []any{
			map[string]any{"name": "via-firewall", "properties": map[string]any{
				"addressPrefix": "0.0.0.0/0", "nextHopType": "VirtualAppliance", "nextHopIpAddress": "10.9.0.4"}},
			map[string]any{"name": "lin", "properties": map[string]any{
				"addressPrefix": "192.168.1.0/24", "nextHopType": "VirtualAppliance", "nextHopIpAddress": "10.1.0.4"}},
		}
	})
	vm := group.Compute("virtualMachines", "lin")
	b.patch(vm, `{"properties": {"hardwareProfile": {"vmSize": "Standard_D4s_v3"}}}`)
	b.patch(group.Network("networkInterfaces", "win-nic"),
		fmt.Sprintf(`{"tags": {"Name": "win-nic", %q: "owned"}}`, desired.OwnershipTag(b.name)))
	b.put(group.Compute("disks", "left-behind"), `{"location": "`+location+`",
		"properties": {"diskSizeGB": 8, "creationData": {"createOption": "Empty"}}}`)
	b.put(group.Network("publicIPAddresses", "of-a-machine"), fmt.Sprintf(`{"location": %q, "sku": {"name": "Standard"},
		"tags": {%q: "owned", %q: "AzureMachine/long-gone"}, "properties": {"publicIPAllocationMethod": "Static"}}`,
		location, desired.OwnershipTag(b.name), desired.ObjectTag))
	b.put(group.Compute("disks", "pvc-1"), `{"location": "`+location+`", "tags": {"kubernetes.io-created-for-pvc-name": "data"},
		"properties": {"diskSizeGB": 8, "creationData": {"createOption": "Empty"}}}`)
	mark := b.azure.mark()
	report, found := b.drifts()
	for _, want := range []string{
		"added networkSecurityGroups/drift-node-nsg (AzureCluster/drift): " +
			"properties.securityRules[rdp-for-me]: Allow Inbound Tcp from * to port 3389; it stays",
		"changed networkSecurityGroups/drift-controlplane-nsg (AzureCluster/drift): " +
			"properties.securityRules[allow_ssh].properties.access: Deny -> Allow; the cluster is paused",
		"added routeTables/drift-node-routetable (AzureCluster/drift): " +
			"properties.routes[via-firewall]: 0.0.0.0/0 by VirtualAppliance 10.9.0.4; it stays",
		"changed virtualMachines/lin (AzureMachine/lin): properties.hardwareProfile.vmSize: Standard_D4s_v3 -> Standard_D2s_v3; ",
		"changed networkInterfaces/win-nic (AzureMachine/win): tags.kubernetes.io_cluster_drift: none -> owned; ",
		"stray disks/left-behind (): it is in the cluster's group without an owner; ",
		"stray publicIPAddresses/of-a-machine (): it is tagged as that of AzureMachine/long-gone, which does not exist; ",
	} {
		if !strings.Contains(found, want) {
			t.Errorf("it is not found that: %s", want)
		}
	}
	for _, not := range []string{"pvc-1", "routes[lin]"} {
		if strings.Contains(found, not) {
			t.Errorf("%s is Kubernetes' own", not)
		}
	}
	if t.Failed() {
		t.Log(found)
	}
	for _, f := range report.Findings {
		if f.Last == nil || f.Last.By == "" {
			t.Errorf("no writer of %s is known", f.ID)
		}
	}
	for _, call := range b.azure.since(mark) {
		if !strings.HasPrefix(call, "GET ") && strings.Contains(call, strings.ToLower(b.name)) {
			t.Errorf("drift called %s", call)
		}
	}

	b.patch(vm, `{"tags": {"Name": "lin"}}`)
	if _, found := b.drifts(); !strings.Contains(found, "changed virtualMachines/lin (AzureMachine/lin): tags."+
		desired.OwnershipTag(b.name)+": none -> owned; casement takes it for somebody else's") {
		t.Errorf("a machine without the owner's tag is not reported:\n%s", found)
	}
}

// patch patches a resource in Azure without the manager.
func (b *bed) patch(id, body string) {
	b.t.Helper()
	result, err := b.azure.client.Patch(b.t.Context(), id, desired.APIVersion(arm.TypeOf(id)), json.RawMessage(body))
	b.finish(id, result, err)
}
