package cloud

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// NodeLost reports whether a Machine had a node that does not report any more: its kubelet
// is silent, or the cloud provider has deleted it. A kubelet that reports NotReady is not
// lost, because its virtual machine runs.
func NodeLost(m *clusterv1.Machine) bool {
	if m == nil || !m.Status.NodeRef.IsDefined() {
		return false
	}
	c := conditions.Get(m, clusterv1.MachineNodeReadyCondition)
	return c != nil && (c.Reason == clusterv1.MachineNodeReadyUnknownReason || c.Reason == clusterv1.MachineNodeDeletedReason)
}
