// Package condition turns what happened in Azure into the conditions and events
// of an object.
//
// It decides nothing about Azure or about what to do next. The controllers
// import it, and nothing else does.
package condition

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/azure/plan"
)

// Reasons that several kinds share.
const (
	// Provisioned: the resources behind the condition are as the spec asks.
	Provisioned = "Provisioned"
	// Deleted: they are gone.
	Deleted = "Deleted"
	// InvalidSpec: a field has to change before Azure can be asked.
	InvalidSpec = "InvalidSpec"
)

// maxMessage keeps a message short of the API's limit for conditions (32 KiB) and
// readable on a terminal.
const maxMessage = 1000

// Object is what has conditions.
type Object interface {
	client.Object
	conditions.Setter
}

// Table lists the condition types of a kind in the order in which they become
// true. The first ones are required; those of Optional may be missing.
type Table struct {
	Required []string
	Optional []string
}

// Owned are all types that the kind's controller writes, Ready included.
func (t Table) Owned() []string {
	return slices.Concat(t.Required, t.Optional, []string{clusterv1.ReadyCondition})
}

// False sets a condition that does not hold: message says what, why and what to do.
func False(obj Object, conditionType, reason, message string) {
	conditions.Set(obj, metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: Short(message)})
}

// True sets a condition that holds.
func True(obj Object, conditionType, reason string) {
	conditions.Set(obj, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason})
}

// Fold sets one condition for each that resources of an outcome report to: the
// worst of them decides. Types of the table that nothing reports to any more are
// left alone.
func Fold(obj Object, outcome plan.Outcome) {
	byType := map[string][]plan.ResourceStatus{}
	var order []string
	for _, r := range outcome.Resources {
		if _, seen := byType[r.Condition]; !seen {
			order = append(order, r.Condition)
		}
		byType[r.Condition] = append(byType[r.Condition], r)
	}
	for _, conditionType := range order {
		worst := worstOf(byType[conditionType])
		if worst[0].State == plan.Done {
			True(obj, conditionType, Provisioned)
			continue
		}
		var messages []string
		for _, r := range worst {
			messages = append(messages, r.Message)
		}
		False(obj, conditionType, cmp.Or(worst[0].Reason, string(worst[0].State)), strings.Join(slices.Compact(messages), "; "))
	}
}

// worstOf are the resources in the worst state that any of them is in.
func worstOf(all []plan.ResourceStatus) []plan.ResourceStatus {
	for _, state := range []plan.State{plan.Failed, plan.Waiting} {
		var found []plan.ResourceStatus
		for _, r := range all {
			if r.State == state {
				found = append(found, r)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return all
}

// Summarise sets Ready from the other conditions of the table. Its reason is that
// of the first condition that does not hold, so that a list of objects says it all.
func Summarise(obj Object, t Table) error {
	types := slices.Concat(t.Required, t.Optional)
	reason := func(issues, unknown, info []conditions.ConditionWithOwnerInfo) string {
		switch {
		case len(issues) > 0:
			return firstOf(issues, types).Reason
		case len(unknown) > 0:
			return clusterv1.ReadyUnknownReason
		}
		return clusterv1.ReadyReason
	}
	return conditions.SetSummaryCondition(obj, obj, clusterv1.ReadyCondition,
		conditions.ForConditionTypes(types), conditions.IgnoreTypesIfMissing(t.Optional),
		conditions.CustomMergeStrategy{MergeStrategy: conditions.DefaultMergeStrategy(conditions.ComputeReasonFunc(reason))})
}

// firstOf is the condition that comes first in the order of types.
func firstOf(found []conditions.ConditionWithOwnerInfo, types []string) conditions.ConditionWithOwnerInfo {
	return slices.MinFunc(found, func(a, b conditions.ConditionWithOwnerInfo) int {
		return cmp.Compare(slices.Index(types, a.Type), slices.Index(types, b.Type))
	})
}

// Short cuts a message that is too long to read.
func Short(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "..."
}

// Emit sends an event for each condition of obj that changed since before: a
// warning when it stopped holding or gives a new reason, a normal one when Ready
// came true. Waiting is not news.
func Emit(recorder events.EventRecorder, obj Object, before []metav1.Condition, waiting ...string) {
	for _, c := range obj.GetConditions() {
		i := slices.IndexFunc(before, func(b metav1.Condition) bool { return b.Type == c.Type })
		if i >= 0 && before[i].Status == c.Status && before[i].Reason == c.Reason {
			continue
		}
		switch {
		case c.Type == clusterv1.ReadyCondition && c.Status == metav1.ConditionTrue:
			recorder.Eventf(obj, nil, corev1.EventTypeNormal, "Ready", "Reconcile", "everything is as the spec asks")
		case c.Type == clusterv1.ReadyCondition, c.Type == clusterv1.PausedCondition, c.Status != metav1.ConditionFalse, slices.Contains(waiting, c.Reason):
		default:
			recorder.Eventf(obj, nil, corev1.EventTypeWarning, c.Reason, "Reconcile", "%s: %s", c.Type, c.Message)
		}
	}
}
