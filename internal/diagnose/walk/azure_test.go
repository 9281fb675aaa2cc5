package walk

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// control adds machines of a control plane with the power states of their VMs.
func control(f *facts.Snapshot, power ...string) {
	f.VMs = map[string]facts.VM{}
	for i, p := range power {
		m := *f.Machines[0].DeepCopy()
		m.Name = "cp-" + string(rune('0'+i))
		m.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		m.Spec.InfrastructureRef.Kind = "AzureMachine"
		f.Machines = append(f.Machines, m)
		f.VMs[m.Name] = facts.VM{Power: p}
	}
}

// TestAzureExplains: an unreachable API server or a missing report is explained by obstacles in Azure, and only by
// possible causes.
func TestAzureExplains(t *testing.T) {
	const timeout, id = "dial tcp 10.0.0.100:6443: i/o timeout", "/subscriptions/s/resourceGroups/g/providers/x/identities/node"
	unnamed := "E1127 06:00:00.000000 1 x.go:1] kubelet: Get \"https://apiserver.demo.capz.io:6443\": dial tcp: lookup " +
		"apiserver.demo.capz.io: no such host"
	stopped := ready("NodeStatusUnknown", "Kubelet stopped posting node status.")
	for name, test := range map[string]struct {
		inject    func(*facts.Snapshot)
		cause, at string
	}{
		"every control plane machine is off": {func(f *facts.Snapshot) { f.Unreachable = timeout; control(f, "deallocated", "stopped") },
			"VMStopped", "AzureMachine/am"},
		"one of two is off": {func(f *facts.Snapshot) { f.Unreachable = timeout; control(f, "deallocated", "running") },
			"NoRouteToAPI", "Cluster/c"},
		"a pool without members": {func(f *facts.Snapshot) {
			f.Unreachable, f.Closed = timeout, []facts.Obstacle{{Cause: "BackendPoolEmpty", Line: "x"}}
		}, "BackendPoolEmpty", "Cluster/c"},
		"an obstacle that is not one of connections": {func(f *facts.Snapshot) {
			f.Unreachable, f.Closed = timeout, []facts.Obstacle{{Cause: "DNSLinkMissing", Line: "x"}}
		}, "NoRouteToAPI", "Cluster/c"},
		"a name that does not resolve for us": {func(f *facts.Snapshot) {
			f.Unreachable = "dial tcp: lookup apiserver.demo.capz.io: no such host"
			f.Closed = []facts.Obstacle{{Cause: "DNSLinkMissing", Line: "x"}}
		}, "DNSLinkMissing", "Cluster/c"},
		"a name that does not resolve on a machine": {func(f *facts.Snapshot) {
			console(unnamed)(f)
			f.Closed = []facts.Obstacle{{Cause: "DNSLinkMissing", Line: "x"}}
		}, "DNSLinkMissing", "guest of Machine/m"},
		"a rule does not take names away": {func(f *facts.Snapshot) {
			console(unnamed)(f)
			f.Closed = []facts.Obstacle{{Cause: "NetworkRuleDenies", Line: "x"}}
		}, "APINameUnresolved", "guest of Machine/m"},
		"a node whose VM is off": {func(f *facts.Snapshot) { stopped(f); f.VMs = map[string]facts.VM{"m": {Power: "deallocated"}} },
			"VMStopped", "AzureMachine/am"},
		"a node whose VM is gone": {func(f *facts.Snapshot) { stopped(f); f.VMs = map[string]facts.VM{"m": {Gone: true}} },
			"VMDeleted", "AzureMachine/am"},
		"a node whose VM runs": {func(f *facts.Snapshot) { stopped(f); f.VMs = map[string]facts.VM{"m": {Power: "running"}} },
			"KubeletStopped", "Node/n"},
		"a machine that was stopped before it joined": {func(f *facts.Snapshot) {
			console("nothing that is known")(f)
			f.VMs = map[string]facts.VM{"m": {Power: "stopped"}}
		}, "VMStopped", "AzureMachine/am"},
		"an identity that was taken away": {func(f *facts.Snapshot) {
			f.Nodes["n"].Spec.Taints = []corev1.Taint{{Key: uninitializedTaint}}
			f.AzureMachines["am"].Spec.Identity = infrav1.VMIdentityUserAssigned
			f.AzureMachines["am"].Spec.UserAssignedIdentities = []infrav1.UserAssignedIdentity{{ProviderID: "azure://" + id}}
			f.VMs = map[string]facts.VM{"m": {Power: "running"}}
		}, "VMIdentityMissing", "AzureMachine/am"},
		"an identity that is there": {func(f *facts.Snapshot) {
			f.Nodes["n"].Spec.Taints = []corev1.Taint{{Key: uninitializedTaint}}
			f.AzureMachines["am"].Spec.Identity = infrav1.VMIdentityUserAssigned
			f.AzureMachines["am"].Spec.UserAssignedIdentities = []infrav1.UserAssignedIdentity{{ProviderID: "azure://" + id}}
			f.VMs = map[string]facts.VM{"m": {Power: "running", Identities: []string{strings.ToLower(id)}}}
		}, "CloudProviderMissing", "Node/n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken, f.AzureCluster.Spec.ResourceGroup = time.Now(), "demo"
			f.Machines[0].Spec.InfrastructureRef.Kind = "AzureMachine"
			f.Nodes["n"].CreationTimestamp = metav1.Time{}
			test.inject(f)
			a := Cluster(f)
			if a.Means.Cause != test.cause || a.At != test.at || a.Healthy || a.Waiting {
				t.Errorf("got %+v", a)
			}
			if a.Means.Fix == "" || a.Next() == "" || len(a.Lines()) == 0 {
				t.Errorf("no fix, command or evidence: %+v", a)
			}
			runs(t, a)
		})
	}
}
