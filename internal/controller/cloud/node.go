package cloud

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// NodeLost reports whether a Machine had a node that does not report any more: its kubelet sends no status, or the
// cloud provider has deleted it. A node whose kubelet reports NotReady is not lost, because its virtual machine runs.
func NodeLost(m *clusterv1.Machine) bool {
	if m == nil || !m.Status.NodeRef.IsDefined() {
		return false
	}
	c := conditions.Get(m, clusterv1.MachineNodeReadyCondition)
	return c != nil && (c.Reason == clusterv1.MachineNodeReadyUnknownReason || c.Reason == clusterv1.MachineNodeDeletedReason)
}

// Leaves returns the time for which the virtual machine of a Machine that is being deleted may still wait for load
// balancers to remove its node: the delay, counted from the beginning of the deletion. It is zero if there is no node
// that reports, for a control plane, whose load balancer is not the cloud provider's, and if the whole cluster is
// deleted.
func Leaves(cluster *clusterv1.Cluster, m *clusterv1.Machine, delay time.Duration) time.Duration {
	if m == nil || m.DeletionTimestamp.IsZero() || !m.Status.NodeRef.IsDefined() || NodeLost(m) ||
		util.IsControlPlaneMachine(m) || !cluster.DeletionTimestamp.IsZero() {
		return 0
	}
	return max(0, time.Until(m.DeletionTimestamp.Add(delay)))
}
