package azuremachine

import (
	"context"
	"errors"
	"time"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/bootdata"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
)

// cleanup deletes the resources that a machine needs only until it is a node.
func (r *Reconciler) cleanup(ctx context.Context, s *scope) pass.Result {
	if !s.machine.Status.NodeRef.IsDefined() {
		return pass.Next()
	}
	return pass.Within(r.unhide(ctx, s))
}

// unhide deletes the bootstrap secret, which no program reads any more. It returns the time until the next attempt, or 0.
func (r *Reconciler) unhide(ctx context.Context, s *scope) time.Duration {
	err := bootdata.Unhide(ctx, s.Azure, s.AzureCluster, s.Cluster.Name, s.azureMachine)
	if refused, ok := errors.AsType[*bootdata.Error](err); ok {
		condition.False(s.azureMachine, infrav1.BootstrapSecretReadyCondition, refused.Reason, refused.Message)
		return refused.After
	}
	return 0
}
