package bootdata

import (
	"context"
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/record"
)

// Claim writes, in one patch, the metadata that an object must have before the first of its resources is created: its
// finalizer, the name of its bootstrap secret if the cluster stores such secrets in a key vault, and the annotation
// that blocks a move. Afterwards o and before (the object at the start of the pass) both have this metadata.
func Claim(ctx context.Context, c client.Client, azureCluster *infrav1.AzureCluster, before, o client.Object, finalizer string) error {
	base, claimed := record.Copy(o), record.Copy(o)
	controllerutil.AddFinalizer(claimed, finalizer)
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[record.BlockMoveAnnotation] = ""
	// The step that reads the data reports an unknown value of the annotation that selects the vault.
	if wanted, err := inVault(azureCluster, o); err == nil && wanted && annotations[secretNameAnnotation] == "" {
		annotations[secretNameAnnotation] = newName(o.GetName())
	}
	claimed.SetAnnotations(annotations)
	if err := c.Patch(ctx, claimed, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the finalizer of %s: %w", o.GetName(), err)
	}
	for _, state := range []client.Object{before, o} {
		state.SetFinalizers(claimed.GetFinalizers())
		state.SetAnnotations(maps.Clone(annotations))
		state.SetResourceVersion(claimed.GetResourceVersion())
	}
	return nil
}

// Claimed reports whether an object's records say that it has, or may have, resources in Azure.
func Claimed(o client.Object, states []infrav1.LongRunningOperationState) bool {
	annotations := o.GetAnnotations()
	_, blocked := annotations[record.BlockMoveAnnotation]
	return blocked || annotations[secretNameAnnotation] != "" || len(states) > 0
}
