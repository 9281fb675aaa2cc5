package record

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Own selects the events that Asked selects, for objects that have the label
// cluster.x-k8s.io/watch-filter with the given value; "" means all objects.
func Own(mgr ctrl.Manager, watchFilter string) builder.Predicates {
	return builder.WithPredicates(asked(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), mgr.GetLogger(), watchFilter))
}

// Ours reports whether an object has the watch-filter of this manager. The filter Own does not cover events of other
// objects that trigger a pass, so the pass has to check the label as well.
func Ours(o client.Object, watchFilter string) bool {
	return watchFilter == "" || o.GetLabels()[clusterv1.WatchLabel] == watchFilter
}

// Read reads the object of a pass, and reports whether it exists and belongs to this manager.
func Read(ctx context.Context, c client.Reader, key client.ObjectKey, o client.Object, watchFilter string) (ours bool, err error) {
	if err := c.Get(ctx, key, o); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return Ours(o, watchFilter), nil
}

// Asked selects updates of the spec, the labels, the annotations, the owners and the finalizers. Updates of the status
// are the controller's own and would only make it call Azure too early.
func Asked() builder.Predicates { return builder.WithPredicates(asked()) }

func asked() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return Changed(e.ObjectOld, e.ObjectNew)
	}}
}

// others returns the annotations that casement's controllers do not write.
func others(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	delete(out, BlockMoveAnnotation)
	return out
}

// Changed reports whether an update changed more of an object than its status and
// casement's own metadata.
func Changed(old, updated client.Object) bool {
	return old.GetGeneration() != updated.GetGeneration() ||
		!maps.Equal(old.GetLabels(), updated.GetLabels()) ||
		!maps.Equal(others(old.GetAnnotations()), others(updated.GetAnnotations())) ||
		!equality.Semantic.DeepEqual(old.GetOwnerReferences(), updated.GetOwnerReferences()) ||
		!slices.Equal(old.GetFinalizers(), updated.GetFinalizers()) ||
		!old.GetDeletionTimestamp().Equal(updated.GetDeletionTimestamp())
}
