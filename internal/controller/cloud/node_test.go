package cloud

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func TestNodeLost(t *testing.T) {
	with := func(node string, status metav1.ConditionStatus, reason string) *clusterv1.Machine {
		m := &clusterv1.Machine{}
		m.Status.NodeRef.Name = node
		if reason != "" {
			m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineNodeReadyCondition, Status: status, Reason: reason}}
		}
		return m
	}
	for name, test := range map[string]struct {
		machine *clusterv1.Machine
		want    bool
	}{
		"no machine":           {nil, false},
		"no node yet":          {with("", metav1.ConditionUnknown, clusterv1.MachineNodeReadyUnknownReason), false},
		"nothing known":        {with("n", "", ""), false},
		"ready":                {with("n", metav1.ConditionTrue, clusterv1.MachineNodeReadyReason), false},
		"not ready, and heard": {with("n", metav1.ConditionFalse, clusterv1.MachineNodeNotReadyReason), false},
		"silent":               {with("n", metav1.ConditionUnknown, clusterv1.MachineNodeReadyUnknownReason), true},
		"deleted":              {with("n", metav1.ConditionFalse, clusterv1.MachineNodeDeletedReason), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NodeLost(test.machine); got != test.want {
				t.Errorf("lost: %v, want %v", got, test.want)
			}
		})
	}
}
