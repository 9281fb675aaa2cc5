package model

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// State is the health of an object.
type State string

// The states, from the worst to the best.
const (
	Bad     State = "bad"
	Waiting State = "wait"
	Leaving State = "gone"
	Good    State = "ok"
)

// patience is the time after which a machine that is not up is a problem.
const patience = 10 * time.Minute

// waitingReason reports whether a condition's reason means work in progress.
func waitingReason(reason string) bool {
	for _, word := range []string{"Waiting", "Creating", "Updating", "Deleting", "Scaling", "InProgress",
		"Provisioning", "NotReported", "Unknown", "Internal"} {
		if strings.Contains(reason, word) {
			return true
		}
	}
	return false
}

// stateOf returns the state of an object from a condition that summarises it.
func stateOf(o metav1.Object, conditions []metav1.Condition, condition string, now time.Time) State {
	if !o.GetDeletionTimestamp().IsZero() {
		return Leaving
	}
	sum := meta.FindStatusCondition(conditions, condition)
	if sum != nil && sum.Status == metav1.ConditionTrue {
		return Good
	}
	for _, c := range conditions {
		if c.Type != condition && c.Type != clusterv1.PausedCondition && c.Status == metav1.ConditionFalse &&
			strings.Contains(c.Reason, "Failed") {
			return Bad
		}
	}
	young := now.Sub(o.GetCreationTimestamp().Time) < patience
	if young || sum == nil || sum.Status == metav1.ConditionUnknown && waitingReason(sum.Reason) {
		return Waiting
	}
	return Bad
}

// machineState returns the state of a machine, given the state of its infrastructure.
func machineState(m *clusterv1.Machine, infrastructure State, now time.Time) State {
	switch {
	case !m.DeletionTimestamp.IsZero():
		return Leaving
	case meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineReadyCondition):
		return Good
	case infrastructure == Bad:
		return Bad
	case m.Status.Phase != string(clusterv1.MachinePhaseRunning) && now.Sub(m.CreationTimestamp.Time) < patience:
		return Waiting
	// A node that has just registered waits for its network.
	case m.Status.NodeRef.Name != "" && now.Sub(m.CreationTimestamp.Time) < patience/2:
		return Waiting
	}
	return Bad
}
