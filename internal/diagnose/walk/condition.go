package walk

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// specific returns the condition that best explains why a casement object is not Ready: a failure rather than work in
// progress, and a detailed condition rather than the summary. It returns nil for a Ready object.
func specific(conditions []metav1.Condition) *metav1.Condition {
	ready := bad(conditions, clusterv1.ReadyCondition)
	if ready == nil && slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.Type == clusterv1.ReadyCondition }) {
		return nil
	}
	var waiting *metav1.Condition
	for i := range conditions {
		c := &conditions[i]
		negative := c.Type == clusterv1.ReadyCondition || c.Type == clusterv1.PausedCondition || c.Type == clusterv1.DeletingCondition
		if negative || c.Status == metav1.ConditionTrue {
			continue
		}
		if !inProgress(c.Reason) {
			return c
		}
		if waiting == nil {
			waiting = c
		}
	}
	if waiting != nil {
		return waiting
	}
	if paused := bad(conditions, clusterv1.PausedCondition); paused == nil {
		for i := range conditions {
			if conditions[i].Type == clusterv1.PausedCondition {
				return &conditions[i]
			}
		}
	}
	return ready
}

// later returns a condition of a Ready object which reports another failure or that the object is paused, or nil.
func later(conditions []metav1.Condition) *metav1.Condition {
	if bad(conditions, clusterv1.ReadyCondition) != nil {
		return nil
	}
	for i := range conditions {
		c := &conditions[i]
		switch c.Type {
		case clusterv1.PausedCondition:
			if c.Status == metav1.ConditionTrue {
				return c
			}
		case clusterv1.ReadyCondition, clusterv1.DeletingCondition:
		default:
			if c.Status == metav1.ConditionFalse && !inProgress(c.Reason) {
				return c
			}
		}
	}
	return nil
}

// inProgress reports whether a reason means work in progress.
func inProgress(reason string) bool {
	return slices.Contains([]string{"Creating", "Updating", "Deleting", "BootstrapInProgress",
		"WaitingForBootstrapData", "WaitingForClusterInfrastructure", "WaitingForNeeds", "WaitingForControlPlaneEndpoint",
		"WaitingForMachines", "ChangedElsewhere", "Scaling", "RollingUpdate", "Unknown", "NotYetReported"}, reason)
}

// patience is the time for which temporary states of Azure are no fault. The controllers wait as long.
const patience = 10 * time.Minute

// passes reports whether a cause is usually temporary.
func passes(cause string) bool {
	return slices.Contains([]string{"AzureBusy", "AzureFails", "NicReserved", "PrincipalUnknown"}, cause)
}
