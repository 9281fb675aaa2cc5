// Package condition sets conditions of an object for outcomes in Azure, and emits events.
//
// It decides nothing about Azure or the next step. Only the controllers import it. table.go has the conditions of each kind.
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
	// Provisioned means that the resources of the condition are in the state that the spec requests.
	Provisioned = "Provisioned"
	// InvalidSpec means that a field has to change before Azure is called.
	InvalidSpec = "InvalidSpec"
	// WaitingForNeeds is the planner's reason: another resource has to exist first.
	WaitingForNeeds = "WaitingForNeeds"
)

// maxMessage keeps a message below the API's limit for conditions (32 KiB). It is long enough for Azure's longest
// messages, whose decisive part is at the end.
const maxMessage = 4096

// Object is an object with conditions.
type Object interface {
	client.Object
	conditions.Setter
}

// False sets a condition to False; message states what failed, why, and what to do.
func False(obj Object, conditionType, reason, message string) {
	conditions.Set(obj, metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: Short(message)})
}

// TrueWith sets a condition to True, with a message.
func TrueWith(obj Object, conditionType, reason, message string) {
	conditions.Set(obj, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, Message: Short(message)})
}

// Unknown sets a condition to Unknown; message states the reason.
func Unknown(obj Object, conditionType, reason, message string) {
	conditions.Set(obj, metav1.Condition{Type: conditionType, Status: metav1.ConditionUnknown, Reason: reason, Message: Short(message)})
}

// True sets a condition to True.
func True(obj Object, conditionType, reason string) {
	conditions.Set(obj, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason})
}

// Fold sets one condition for each condition type that resources of an outcome name; the resource in the worst state
// determines it. Other types of the table are not changed.
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

// Forget removes the optional conditions of a table that no resource of an outcome names: the spec no longer requests
// their resources, such as a peering, and their last status would stay. It is only for tables whose optional conditions
// all report on resources.
func Forget(obj Object, t Table, outcome plan.Outcome) {
	for _, conditionType := range t.Optional {
		if !slices.ContainsFunc(outcome.Resources, func(r plan.ResourceStatus) bool { return r.Condition == conditionType }) {
			conditions.Delete(obj, conditionType)
		}
	}
}

// worstOf returns the resources in the worst state: failed, in progress, or waiting for
// others, in this order.
func worstOf(all []plan.ResourceStatus) []plan.ResourceStatus {
	for _, bad := range []func(plan.ResourceStatus) bool{
		func(r plan.ResourceStatus) bool { return r.State == plan.Failed },
		func(r plan.ResourceStatus) bool { return r.State == plan.Waiting && r.Reason != WaitingForNeeds },
		func(r plan.ResourceStatus) bool { return r.State == plan.Waiting },
	} {
		var found []plan.ResourceStatus
		for _, r := range all {
			if bad(r) {
				found = append(found, r)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return all
}

// Summarise sets Ready from the other conditions of the table. Reason and message are those of the first condition that
// is not True; a condition that only waits for another one comes last.
func Summarise(obj Object, t Table) {
	var first *metav1.Condition
	missing := false
	for _, conditionType := range slices.Concat(t.Required, t.Optional) {
		c := conditions.Get(obj, conditionType)
		switch {
		case c == nil:
			missing = missing || slices.Contains(t.Required, conditionType)
		case c.Status != metav1.ConditionTrue && (first == nil || first.Reason == WaitingForNeeds && c.Reason != WaitingForNeeds):
			first = c
		}
	}
	ready := metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason}
	switch {
	case first != nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, first.Reason, Short(first.Type+": "+first.Message)
	case missing:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, clusterv1.ReadyUnknownReason, "nothing is known yet"
	}
	conditions.Set(obj, ready)
}

// Short shortens a message that is too long to read.
func Short(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "..."
}

// Emit sends an event for each condition of obj that has changed compared to before: a warning if it became not True or
// got a new reason, a normal event if Ready became True. Waiting triggers no event.
func Emit(recorder events.EventRecorder, obj Object, before []metav1.Condition, waiting ...string) {
	for _, c := range obj.GetConditions() {
		i := slices.IndexFunc(before, func(b metav1.Condition) bool { return b.Type == c.Type })
		if i >= 0 && before[i].Status == c.Status && before[i].Reason == c.Reason {
			continue
		}
		send := func(kind, reason, note string) { recorder.Eventf(obj, nil, kind, reason, "Reconcile", "%s", note) }
		switch {
		case c.Type == clusterv1.ReadyCondition && c.Status == metav1.ConditionTrue:
			send(corev1.EventTypeNormal, "Ready", "everything is as the spec asks")
		case c.Type == clusterv1.ReadyCondition, c.Type == clusterv1.PausedCondition,
			c.Status != metav1.ConditionFalse, slices.Contains(waiting, c.Reason):
		default:
			send(corev1.EventTypeWarning, c.Reason, c.Type+": "+c.Message)
		}
	}
}
