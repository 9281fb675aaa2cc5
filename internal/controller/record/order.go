package record

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotate writes an annotation of an object immediately. It fails with a conflict if the object has been
// written since it was read.
func Annotate(ctx context.Context, c client.Client, obj client.Object, annotation, value string) error {
	base, updated := Copy(obj), Copy(obj)
	annotations := updated.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = value
	updated.SetAnnotations(annotations)
	if err := c.Patch(ctx, updated, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write annotation %s of %s: %w", annotation, obj.GetName(), err)
	}
	obj.SetAnnotations(annotations)
	obj.SetResourceVersion(updated.GetResourceVersion())
	return nil
}

// Older orders objects by age and, for equal ages, by name.
func Older(a, b client.Object) bool {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.GetNamespace()+"/"+a.GetName() < b.GetNamespace()+"/"+b.GetName()
}
