package helm

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// set sets a condition: False with a reason, True without one. The message of a True
// condition may contain a warning.
func set(conditions *[]metav1.Condition, generation int64, kind, reason, message string) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: generation}
	if reason == "" {
		c.Status, c.Reason = metav1.ConditionTrue, kind
	}
	meta.SetStatusCondition(conditions, c)
}

// finalBefore reports whether a condition shows, by one of the reasons, that the current generation of the object
// always fails in the same way.
func finalBefore(c *metav1.Condition, generation int64, reasons ...string) bool {
	return c != nil && slices.Contains(reasons, c.Reason) && c.ObservedGeneration == generation
}

// summarize sets Ready from the conditions of some types: the first one that is not True is
// the reason why Ready is False.
func summarize(conditions *[]metav1.Condition, generation int64, kinds ...string) {
	for _, kind := range kinds {
		c := meta.FindStatusCondition(*conditions, kind)
		if c == nil {
			set(conditions, generation, clusterv1.ReadyCondition, "Waiting", kind+" is not known yet")
			return
		}
		if c.Status != metav1.ConditionTrue {
			set(conditions, generation, clusterv1.ReadyCondition, c.Reason, cmp.Or(c.Message, kind+" is "+string(c.Status)))
			return
		}
	}
	message := ""
	for _, kind := range kinds {
		message = cmp.Or(message, meta.FindStatusCondition(*conditions, kind).Message)
	}
	set(conditions, generation, clusterv1.ReadyCondition, "", message)
}
