package walk

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"

	"casement.dev/casement/internal/diagnose/facts"
)

// pooled returns the healthy cluster with its machine in a machine pool.
func pooled() *facts.Snapshot {
	f := healthy()
	f.AzureMachines = nil
	p := clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Name: "mp", Namespace: "default"}}
	p.Spec.Replicas = new(int32(1))
	p.Spec.Template.Spec.InfrastructureRef.Name = "amp"
	p.Spec.Template.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("data")}
	amp := &infrav1.AzureMachinePool{ObjectMeta: metav1.ObjectMeta{Name: "amp"}}
	amp.Status.Replicas = 1
	amp.SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}})
	shown := &infrav1.AzureMachinePoolMachine{ObjectMeta: metav1.ObjectMeta{Name: "amp-0"}}
	shown.SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}})
	m := &f.Machines[0]
	m.Labels = map[string]string{clusterv1.MachinePoolNameLabel: "mp"}
	m.Spec.Bootstrap = clusterv1.Bootstrap{}
	m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{Kind: infrav1.AzureMachinePoolMachineKind, Name: "amp-0"}
	f.Pools = []clusterv1.MachinePool{p}
	f.AzurePools = map[string]*infrav1.AzureMachinePool{"amp": amp}
	f.PoolMachines = map[string]*infrav1.AzureMachinePoolMachine{"amp-0": shown}
	return f
}

func TestPools(t *testing.T) {
	refuse := func(reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: "ScaleSetRunning: " + message},
			{Type: infrav1.ScaleSetRunningCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
	}
	for name, test := range map[string]struct {
		inject    func(*facts.Snapshot)
		cause, at string
	}{
		"healthy": {func(*facts.Snapshot) {}, "", ""},
		"no pool": {func(f *facts.Snapshot) { f.AzurePools = nil }, "AzureMachinePoolMissing", "MachinePool/mp"},
		"quota": {func(f *facts.Snapshot) { f.AzurePools["amp"].SetConditions(refuse("QuotaExceeded", "no cores")) },
			"QuotaExceeded", "AzureMachinePool/amp"},
		"too few": {func(f *facts.Snapshot) { f.Pools[0].Spec.Replicas = new(int32(2)) }, "InstancesMissing", "AzureMachinePool/amp"},
		"no data": {func(f *facts.Snapshot) {
			f.Pools[0].Spec.Template.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{Name: "kc"}}
		}, "WaitingForBootstrapData", "KubeadmConfig/kc"},
		"instance gone": {func(f *facts.Snapshot) { f.PoolMachines = nil }, "InstanceGone", "Machine/m"},
		"instance failed": {func(f *facts.Snapshot) {
			f.PoolMachines["amp-0"].SetConditions([]metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionFalse, Reason: "VMProvisionFailed", Message: "Azure failed"},
			})
		}, "VMProvisionFailed", "AzureMachinePoolMachine/amp-0"},
		"bad token": {console("could not find a JWS signature"), "TokenInvalid", "guest of Machine/m"},
		"not ready": {func(f *facts.Snapshot) {
			f.Nodes["n"].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady,
				Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "cni plugin not initialized"}}
		}, "CNIMissing", "Node/n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := pooled()
			test.inject(f)
			if a := Cluster(f); a.Name() != test.cause || a.At != test.at {
				t.Errorf("the cluster: got %s at %s, want %s at %s", a.Name(), a.At, test.cause, test.at)
			}
			if a := (walker{f}).done((walker{f}).forPool(&f.Pools[0]), ""); a.Name() != test.cause || a.At != test.at {
				t.Errorf("the pool: got %s at %s, want %s at %s", a.Name(), a.At, test.cause, test.at)
			}
			if test.at != "" && !(walker{f}).concernsPool("mp")(test.at) {
				t.Errorf("%s does not concern the pool", test.at)
			}
		})
	}
}
