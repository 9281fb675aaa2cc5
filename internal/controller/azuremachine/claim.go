package azuremachine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/bootdata"
	"casement.dev/casement/internal/controller/pass"
)

// notYetCreated reports whether a machine waits to be created: it gets its finalizer with its first resource.
func notYetCreated(s *scope) bool {
	m := s.azureMachine
	return m.Spec.ProviderID == nil && m.Status.VMState == nil && !bootdata.Claimed(m, m.Status.LongRunningOperationStates)
}

// claim writes the finalizer of a machine, and the other metadata that must exist before its first resource is created.
func (r *Reconciler) claim(ctx context.Context, s *scope) pass.Result {
	if controllerutil.ContainsFinalizer(s.azureMachine, infrav1.MachineFinalizer) {
		return pass.Next()
	}
	return pass.Error(bootdata.Claim(ctx, r.Client, s.AzureCluster, s.Before, s.azureMachine, infrav1.MachineFinalizer))
}
