package walk

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
)

// TestCalm: states that every upgrade passes through are Waiting answers, and become faults when they last too long.
func TestCalm(t *testing.T) {
	leaving := func(f *facts.Snapshot, reason, message string) {
		f.Machines[0].DeletionTimestamp = new(metav1.NewTime(f.Taken.Add(-time.Second)))
		f.Machines[0].Status.Conditions = []metav1.Condition{{
			Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: reason, Message: message,
		}}
	}
	for name, test := range map[string]struct {
		inject func(*facts.Snapshot)
		cause  string
		// later is the time after which the state is a fault.
		later time.Duration
	}{
		"a budget holds the drain": {func(f *facts.Snapshot) {
			leaving(f, clusterv1.MachineDeletingDrainingNodeReason,
				"Pod default/p: cannot evict pod as it would violate the pod's disruption budget")
		}, "EvictionBlocked", slowStatus},
		"the VM is being deleted": {func(f *facts.Snapshot) {
			leaving(f, clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, "Waiting for AzureMachine to be deleted")
		}, deletionUnderWay, slowDeletion},
		"a hundred machines, one after another": {func(f *facts.Snapshot) {
			f.Cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionFalse,
				Reason: "NotAvailable", Message: "* WorkersAvailable: 2 available replicas, at least 100 required",
				LastTransitionTime: metav1.NewTime(f.Taken.Add(-slowStatus - time.Minute))}}
			f.Deployments = []clusterv1.MachineDeployment{{ObjectMeta: metav1.ObjectMeta{Name: "md"}}}
			f.Deployments[0].Spec.Replicas, f.Deployments[0].Status.AvailableReplicas = new(int32(100)), new(int32(2))
			f.Machines[0].Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}
			f.Machines[0].CreationTimestamp = metav1.NewTime(f.Taken.Add(-time.Minute))
		}, "NotAvailable", slowAzure},
		"the node is being drained": {func(f *facts.Snapshot) {
			leaving(f, clusterv1.MachineDeletingDrainingNodeReason, "Drain not completed yet: Pod default/p: deletionTimestamp set, but still "+
				"not removed from the Node")
		}, "PodsStay", slowStatus},
		"the hook of the control plane": {func(f *facts.Snapshot) {
			leaving(f, clusterv1.MachineDeletingWaitingForPreTerminateHookReason, "Waiting for pre-terminate hooks to succeed")
			f.Machines[0].Annotations = map[string]string{controlplanev1.PreTerminateHookCleanupAnnotation: ""}
			f.ControlPlane = &controlplanev1.KubeadmControlPlane{}
		}, "HookWaits", slowAzure},
		"a hook that has just been removed": {func(f *facts.Snapshot) {
			leaving(f, clusterv1.MachineDeletingWaitingForPreTerminateHookReason, "Waiting for pre-terminate hooks to succeed")
		}, "HookWaits", slowAzure},
		"the token is not signed yet": {func(f *facts.Snapshot) {
			console("could not find a JWS signature in the cluster-info ConfigMap")(f)
			f.Machines[0].CreationTimestamp = metav1.NewTime(f.Taken.Add(-time.Second))
		}, "TokenInvalid", slowToken},
		"the pool comes before its scale set": {func(f *facts.Snapshot) {
			f.Pools = []clusterv1.MachinePool{{ObjectMeta: metav1.ObjectMeta{Name: "mp", CreationTimestamp: metav1.NewTime(f.Taken)}}}
		}, "AzureMachinePoolMissing", justApplied},
		"a machine joins a cluster that has not been available for long": {func(f *facts.Snapshot) {
			f.Machines[0].Status.NodeRef.Name = ""
			f.Machines[0].CreationTimestamp = metav1.NewTime(f.Taken)
			f.AzureMachines["am"].SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready",
				LastTransitionTime: metav1.NewTime(f.Taken)}})
			f.Cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionFalse,
				Reason: "NotAvailable", Message: "0 available replicas"}}
		}, "NotRegistered", slowAzure},
		"the pod's node is gone": {func(f *facts.Snapshot) {
			p := &f.Pods[0]
			p.Spec.NodeName, p.Status.Phase, p.Status.Reason = "gone", corev1.PodFailed, "NodeLost"
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(f.Taken)},
			}
		}, "NodeLost", slowStatus},
		"the garbage collector has the pod": {func(f *facts.Snapshot) {
			p := &f.Pods[0]
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "NodeLost"
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC",
				LastTransitionTime: metav1.NewTime(f.Taken),
			}}
		}, "NodeLost", slowStatus},
		"Azure fails for a moment": {func(f *facts.Snapshot) {
			f.AzureMachines["am"].SetConditions([]metav1.Condition{{Type: "VMRunning", Status: metav1.ConditionFalse, Reason: "Transient",
				Message: "cannot read the virtual machine: 503", LastTransitionTime: metav1.NewTime(f.Taken)}})
		}, "AzureFails", patience},
		"the API server, while its machine is replaced": {func(f *facts.Snapshot) {
			f.Unreachable = "dial tcp 10.0.0.100:6443: i/o timeout"
			m := *f.Machines[0].DeepCopy()
			m.Name, m.Labels, m.CreationTimestamp = "cp", map[string]string{clusterv1.MachineControlPlaneLabel: ""}, metav1.NewTime(f.Taken)
			m.Status.NodeRef.Name = "n"
			f.Machines = append(f.Machines, m)
		}, "NoRouteToAPI", slowStatus},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			test.inject(f)
			if a := Cluster(f); a.Healthy || !a.Waiting {
				t.Errorf("at first: %+v", a)
			}
			f.Taken = f.Taken.Add(test.later + time.Second)
			if a := Cluster(f); a.Waiting || a.Name() != test.cause {
				t.Errorf("later: %+v, want %s", a, test.cause)
			}
		})
	}
}

// TestPausedCluster: the objects of a paused cluster are paused by the cluster, and not by an annotation that could be removed.
func TestPausedCluster(t *testing.T) {
	f := healthy()
	f.Cluster.Spec.Paused = new(true)
	readyBut(metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: "Paused",
		Message: "Cluster spec.paused is set to true"})(f)
	machine, err := Object(f, facts.Object{Kind: "Machine", Name: f.Machines[0].Name})
	for _, a := range []Answer{Cluster(f), machine} {
		if err != nil || a.Means.Cause != "Paused" || !strings.HasPrefix(a.At, "Cluster/") {
			t.Errorf("got %+v, %v", a, err)
		}
	}
	f.AzureMachines["am"].Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	if a := Cluster(f); a.At != "AzureMachine/am" {
		t.Errorf("with an annotation: %+v", a)
	}
}
