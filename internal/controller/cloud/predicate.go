package cloud

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Asked lets updates pass that somebody made: of the spec, the labels, the
// annotations, the owners, the finalizers. Updates of the status are the
// controller's own and would only make it ask Azure again before it is time.
func Asked() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return changed(e.ObjectOld, e.ObjectNew)
	}}
}

func changed(old, updated client.Object) bool {
	return old.GetGeneration() != updated.GetGeneration() ||
		!maps.Equal(old.GetLabels(), updated.GetLabels()) ||
		!maps.Equal(old.GetAnnotations(), updated.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(old.GetOwnerReferences(), updated.GetOwnerReferences()) ||
		!slices.Equal(old.GetFinalizers(), updated.GetFinalizers()) ||
		!old.GetDeletionTimestamp().Equal(updated.GetDeletionTimestamp())
}
