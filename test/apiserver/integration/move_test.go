package integration

import (
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/record"
)

// TestBlockMoveEnds checks that the end of an operation removes only the annotation of that
// operation and keeps an annotation that is added while the manager writes.
func TestBlockMoveEnds(t *testing.T) {
	b := newBed(t)
	b.change(b.cluster, func() { b.cluster.Spec.Paused = new(true) })
	b.azureC.Annotations = map[string]string{record.BlockMoveAnnotation: ""}
	b.azureC.OwnerReferences = nil // so that no other controller reconciles it
	b.create(b.azureC)
	seen := &infrav1.AzureCluster{}
	key := client.ObjectKeyFromObject(b.azureC)
	if err := b.client.Get(t.Context(), key, seen); err != nil {
		t.Fatal(err)
	}
	before := seen.DeepCopy()
	b.change(b.azureC, func() { b.azureC.Annotations["team"] = "blue" })
	if err := record.Save(t.Context(), b.client, before, seen, nil, false); !apierrors.IsConflict(err) {
		t.Fatalf("saved over a later annotation: %v", err)
	}
	b.get(b.azureC)
	if err := record.Save(t.Context(), b.client, b.azureC.DeepCopy(), b.azureC.DeepCopy(), nil, false); err != nil {
		t.Fatal(err)
	}
	b.get(b.azureC)
	if want := map[string]string{"team": "blue"}; !maps.Equal(b.azureC.Annotations, want) {
		t.Errorf("annotations %v, want %v", b.azureC.Annotations, want)
	}
}
