package integration

import (
	"slices"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestManagedElsewhere checks that infrastructure with the annotation cluster.x-k8s.io/managed-by
// gets no finalizer and no status, and causes no call. A second cluster that is provisioned
// meanwhile shows that the manager was running.
func TestManagedElsewhere(t *testing.T) {
	b := newBed(t)
	b.azureC.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "terraform"}
	mark := b.azure.mark()
	b.create(b.azureC)
	t.Run("another", func(t *testing.T) { newBed(t).provision() })
	b.get(b.azureC)
	if len(b.azureC.Finalizers) > 0 || len(b.azureC.Status.Conditions) > 0 || len(b.azure.writes(mark, b.name)) > 0 {
		t.Errorf("it has finalizers %v, conditions %v and wrote %v", b.azureC.Finalizers,
			b.azureC.Status.Conditions, b.azure.writes(mark, b.name))
	}
	b.delete(b.azureC)
	b.gone(b.azureC)
}

// TestPoolMachineIsRestored checks that an AzureMachinePoolMachine that is restored from a backup
// without its finalizer, owner and labels gets them again.
func TestPoolMachineIsRestored(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	p := b.pool("workers", "Windows", infrav1.UniformOrchestrationMode, 1)
	shown := p.settled()[0]
	b.change(&shown, func() {
		controllerutil.RemoveFinalizer(&shown, infrav1.MachinePoolMachineFinalizer)
		shown.OwnerReferences = nil
	})
	b.change(p.azure, func() { p.azure.Labels["touched"] = "yes" }) // a restore changes the object too
	b.eventually(&shown, func() string {
		switch {
		case !slices.Contains(shown.Finalizers, infrav1.MachinePoolMachineFinalizer):
			return "the finalizer is missing"
		case len(shown.OwnerReferences) == 0 || shown.OwnerReferences[0].UID != p.azure.UID:
			return "the owner is missing"
		}
		return ""
	})
	b.delete(p.azure)
	b.gone(p.azure)
}
