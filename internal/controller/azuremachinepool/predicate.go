package azuremachinepool

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"casement.dev/casement/internal/controller/cloud"
)

// nodeChanged selects updates of Machines in which the node's state changed or a user
// marked the Machine for deletion.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*clusterv1.Machine)
		is, ok2 := e.ObjectNew.(*clusterv1.Machine)
		if !ok || !ok2 {
			return true
		}
		return was.Status.NodeRef != is.Status.NodeRef || nodeReady(was) != nodeReady(is) || cloud.NodeLost(was) != cloud.NodeLost(is) ||
			was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() || versionOf(was) != versionOf(is) ||
			toDelete(was) != toDelete(is) || unhealthy(was) != unhealthy(is)
	}}
}

// nodeReady reports whether a Machine has a node that accepts pods.
func nodeReady(m *clusterv1.Machine) bool {
	return m != nil && m.Status.NodeRef.IsDefined() && conditions.IsTrue(m, clusterv1.MachineNodeReadyCondition)
}

// unseen reports whether the state of a Machine's node is unknown because Cluster API does not reach the cluster. The
// state of a node whose kubelet does not report is known.
func unseen(m *clusterv1.Machine) bool {
	if m == nil || !m.Status.NodeRef.IsDefined() {
		return false
	}
	c := conditions.Get(m, clusterv1.MachineNodeReadyCondition)
	return c == nil || c.Status == metav1.ConditionUnknown && c.Reason != clusterv1.MachineNodeReadyUnknownReason
}

// toDelete reports whether a user marked a Machine for deletion before others.
func toDelete(m *clusterv1.Machine) bool {
	if m == nil {
		return false
	}
	_, marked := m.Annotations[clusterv1.DeleteMachineAnnotation]
	return marked
}

// unhealthy reports whether a MachineHealthCheck requests that the owner replaces a Machine.
func unhealthy(m *clusterv1.Machine) bool {
	return m != nil && conditions.IsFalse(m, clusterv1.MachineOwnerRemediatedCondition)
}

func versionOf(m *clusterv1.Machine) string {
	if m == nil || m.Status.NodeInfo == nil {
		return ""
	}
	return m.Status.NodeInfo.KubeletVersion
}
