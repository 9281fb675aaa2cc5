package cloud

import (
	"testing"
	"time"

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

func TestLeaves(t *testing.T) {
	ago := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(time.Now().Add(-d))) }
	machine := func(node string, since *metav1.Time) *clusterv1.Machine {
		m := &clusterv1.Machine{}
		m.Status.NodeRef.Name, m.DeletionTimestamp = node, since
		return m
	}
	silent := machine("n", ago(time.Second))
	silent.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionUnknown,
		Reason: clusterv1.MachineNodeReadyUnknownReason}}
	control := machine("n", ago(time.Second))
	control.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
	going := &clusterv1.Cluster{}
	going.DeletionTimestamp = ago(time.Second)
	for name, test := range map[string]struct {
		cluster *clusterv1.Cluster
		machine *clusterv1.Machine
		want    bool
	}{
		"its deletion has begun":        {&clusterv1.Cluster{}, machine("n", ago(time.Second)), true},
		"it began long ago":             {&clusterv1.Cluster{}, machine("n", ago(2*time.Hour)), false},
		"not deleted":                   {&clusterv1.Cluster{}, machine("n", nil), false},
		"without a node":                {&clusterv1.Cluster{}, machine("", ago(time.Second)), false},
		"of a node that is silent":      {&clusterv1.Cluster{}, silent, false},
		"of a cluster that goes":        {going, machine("n", ago(time.Second)), false},
		"of a control plane":            {&clusterv1.Cluster{}, control, false},
		"whose Machine has gone before": {&clusterv1.Cluster{}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Leaves(test.cluster, test.machine, time.Hour); (got > 0) != test.want || got > time.Hour {
				t.Errorf("it may wait for another %s", got)
			}
		})
	}
}
