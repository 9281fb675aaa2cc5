package integration

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestLifecycle creates and deletes a cluster with one machine of each kind and counts every write:
// one PUT for each resource, one DELETE for each machine and NAT rule, and one DELETE for the
// remaining resources.
func TestLifecycle(t *testing.T) {
	b := newBed(t)
	mark := b.azure.mark()
	b.provision()
	wantCluster := map[string]int{
		"PUT resourceGroups": 1, "PUT networkSecurityGroups": 2, "PUT routeTables": 1, "PUT publicIPAddresses": 2,
		"PUT natGateways": 1, "PUT virtualNetworks": 1, "PUT loadBalancers": 1,
	}
	if diff := cmp.Diff(wantCluster, b.azure.writes(mark, b.name)); diff != "" {
		t.Errorf("writes to create the cluster (-want +got):\n%s", diff)
	}
	endpoint := b.azureC.Spec.ControlPlaneEndpoint
	if !strings.HasPrefix(endpoint.Host, b.name+"-") || endpoint.Port != 6443 {
		t.Errorf("endpoint %+v", endpoint)
	}
	if len(b.azureC.Status.FailureDomains) != 3 {
		t.Errorf("failure domains %+v", b.azureC.Status.FailureDomains)
	}

	mark = b.azure.mark()
	machines := []*infrav1.AzureMachine{
		b.machine("cp-0", "Linux", true), b.machine("linux-0", "Linux", false), b.machine("windows-pool-abcde", "Windows", false),
	}
	for _, m := range machines {
		b.create(m)
	}
	for _, m := range machines {
		b.running(m)
	}
	wantMachines := map[string]int{"PUT inboundNatRules": 1, "PUT networkInterfaces": 3, "PUT virtualMachines": 3}
	if diff := cmp.Diff(wantMachines, b.azure.writes(mark, b.name)); diff != "" {
		t.Errorf("writes to create the machines (-want +got):\n%s", diff)
	}
	checkMachine(t, b, machines[2])
	checkIdle(t, b, machines)
	checkTags(t, b, machines[1])

	mark = b.azure.mark()
	for _, m := range machines {
		b.delete(m)
	}
	for _, m := range machines {
		b.gone(m)
	}
	wantGone := map[string]int{"DELETE inboundNatRules": 1, "DELETE virtualMachines": 3}
	if diff := cmp.Diff(wantGone, b.azure.writes(mark, b.name)); diff != "" {
		t.Errorf("writes to delete the machines (-want +got):\n%s", diff)
	}
	mark = b.azure.mark()
	b.delete(b.azureC)
	b.gone(b.azureC)
	if diff := cmp.Diff(map[string]int{"DELETE resourceGroups": 1}, b.azure.writes(mark, b.name)); diff != "" {
		t.Errorf("writes to delete the cluster (-want +got):\n%s", diff)
	}
	if left := b.azure.left(b.name); len(left) > 0 {
		t.Errorf("left in Azure: %v", left)
	}
	identity := &infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity")}
	b.get(identity)
	if len(identity.Finalizers) > 0 {
		t.Errorf("the identity is still held: %v", identity.Finalizers)
	}
}

func checkMachine(t *testing.T, b *bed, m *infrav1.AzureMachine) {
	t.Helper()
	if got := *m.Spec.ProviderID; !strings.HasPrefix(got, "azure:///subscriptions/"+subscription) ||
		!strings.HasSuffix(got, "/virtualMachines/windows-p-abcde") {
		t.Errorf("provider ID %s", got)
	}
	if !conditions.IsTrue(m, clusterv1.ReadyCondition) || len(m.Status.Addresses) != 2 ||
		m.Status.Addresses[0].Address != "windows-p-abcde" {
		t.Errorf("addresses %+v, conditions:\n%s", m.Status.Addresses, show(m))
	}
}

// checkIdle makes every machine reconcile again and counts the calls to Azure.
func checkIdle(t *testing.T, b *bed, machines []*infrav1.AzureMachine) {
	t.Helper()
	mark := b.azure.mark()
	for _, m := range machines {
		b.change(m, func() { m.Annotations["touched"] = "yes" })
	}
	// The queue is ordered: when a later machine runs, the others have been reconciled.
	last := b.machine("linux-1", "Linux", false)
	b.create(last)
	b.running(last)
	for _, call := range b.azure.since(mark) {
		for _, m := range machines {
			if strings.HasSuffix(call, m.Name) || strings.HasSuffix(call, m.Name+"-nic") {
				t.Errorf("an idle machine costs %s", call)
			}
		}
	}
	b.delete(last)
	b.gone(last)
}

// checkTags adds a tag to a machine. Tags are the only part of a VM that is ever changed.
func checkTags(t *testing.T, b *bed, m *infrav1.AzureMachine) {
	t.Helper()
	mark := b.azure.mark()
	b.change(m, func() { m.Spec.AdditionalTags = infrav1.Tags{"team": "blue"} })
	b.eventually(m, func() string {
		got := b.azure.writes(mark, b.name)
		return cmp.Diff(map[string]int{"PATCH virtualMachines": 1, "PATCH networkInterfaces": 1}, got)
	})
}

// TestComputerNames creates two machines whose names shorten to the same computer name.
func TestComputerNames(t *testing.T) {
	b := newBed(t)
	b.provision()
	first, second := b.machine("pool-one-first-abcde", "Windows", false), b.machine("pool-one-other-abcde", "Windows", false)
	b.create(first)
	b.running(first)
	b.create(second)
	b.running(second)
	if !strings.HasSuffix(*first.Spec.ProviderID, "/pool-one-abcde") {
		t.Errorf("the first is %s", *first.Spec.ProviderID)
	}
	if *first.Spec.ProviderID == *second.Spec.ProviderID || len(second.Status.Addresses[0].Address) > 15 {
		t.Errorf("the second is %s", *second.Spec.ProviderID)
	}
}

// TestVMDeletedBehindOurBack checks that a VM that was deleted outside of casement is a terminal
// failure, because a new VM would not get its disk.
func TestVMDeletedBehindOurBack(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	m := b.machine("worker-0", "Linux", false)
	b.create(m)
	b.running(m)
	b.remove(b.group().Compute("virtualMachines", "worker-0"))
	touches := 0
	b.eventually(m, func() string {
		if m.Status.FailureReason != nil {
			return ""
		}
		touches++
		b.change(m, func() { m.Annotations["touched"] = strconv.Itoa(touches) })
		return "not given up"
	})
	b.givenUp(m, "UpdateError")
	if string(*m.Status.VMState) != "Deleted" {
		t.Errorf("state %s", *m.Status.VMState)
	}
}

// TestIdentityGoesFirst deletes a cluster whose identity's secret was deleted before.
func TestIdentityGoesFirst(t *testing.T) {
	b := newBed(t)
	b.provision()
	secret := &corev1.Secret{ObjectMeta: b.meta("sp")}
	if err := b.client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	b.delete(b.azureC)
	b.eventually(b.azureC, func() string {
		c := conditions.Get(b.azureC, infrav1.NetworkInfrastructureReadyCondition)
		if c == nil || c.Reason != "IdentitySecretNotFound" || !strings.Contains(c.Message, "abandon-azure-resources") {
			return "no way out is shown"
		}
		return ""
	})
	b.create(&corev1.Secret{ObjectMeta: b.meta("sp"), Data: map[string][]byte{"clientSecret": []byte("good")}})
	b.gone(b.azureC)
	if left := b.azure.left(b.name); len(left) > 0 {
		t.Errorf("left in Azure: %v", left)
	}
}

// TestAbandon deletes a cluster's objects without the cluster's resources in Azure.
func TestAbandon(t *testing.T) {
	b := newBed(t)
	b.provision()
	if err := b.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: b.meta("sp")}); err != nil {
		t.Fatal(err)
	}
	b.delete(b.azureC)
	b.change(b.azureC, func() {
		b.azureC.Annotations = map[string]string{"infrastructure.cluster.x-k8s.io/abandon-azure-resources": "true"}
	})
	b.gone(b.azureC)
	if left := b.azure.left(b.name); len(left) == 0 {
		t.Error("abandoned resources are gone")
	}
}

// TestAzureJSON checks that the cloud provider's configuration is written for a template.
func TestAzureJSON(t *testing.T) {
	b := newBed(t)
	b.provision()
	template := &infrav1.AzureMachineTemplate{ObjectMeta: b.owned("md-0", "Cluster", b.cluster)}
	template.Spec.Template.Spec.VMSize = vmSize
	template.Spec.Template.Spec.OSDisk = infrav1.OSDisk{OSType: "Windows", DiskSizeGB: new(int32(128))}
	b.create(template)
	b.eventually(template, func() string {
		if template.Status.NodeInfo == nil || template.Status.NodeInfo.OperatingSystem != "windows" ||
			template.Status.Capacity.Cpu().Value() != 2 {
			return "no capacity"
		}
		secret := &corev1.Secret{}
		if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "md-0-azure-json"}, secret); err != nil {
			return err.Error()
		}
		if !strings.Contains(string(secret.Data["worker-node-azure.json"]), `"vnetName": "`+b.name+`-vnet"`) {
			return "the configuration does not name the network"
		}
		return ""
	})
}

// TestBootstrapExtension checks that the VM extension that reports the bootstrap's success runs where it is requested.
func TestBootstrapExtension(t *testing.T) {
	b := newBed(t)
	b.provision()
	m := b.machine("worker-0", "Linux", false)
	m.Spec.DisableVMBootstrapExtension = new(false)
	b.create(m)
	b.eventually(m, func() string {
		if !conditions.IsTrue(m, infrav1.BootstrapSucceededCondition) || !m.Status.Ready {
			return "the bootstrap is not checked"
		}
		return ""
	})
	if !b.exists(b.group().Compute("virtualMachines", "worker-0", "extensions", "CAPZ.Linux.Bootstrapping")) {
		t.Error("no extension in Azure")
	}
	b.delete(m)
	b.gone(m)
}
