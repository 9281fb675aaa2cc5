package azuremachine

import (
	"context"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
)

// bootstrap says in BootstrapSucceeded why a virtual machine that is there has not become
// a node, as far as its serial console shows it.
func (r *Reconciler) bootstrap(ctx context.Context, s *scope) pass.Result {
	return pass.Within(r.readConsole(ctx, s, time.Now()))
}

// readConsole returns when to look again, 0 for not at all.
func (r *Reconciler) readConsole(ctx context.Context, s *scope, now time.Time) time.Duration {
	m := s.azureMachine
	if s.machine.Status.NodeRef.IsDefined() {
		if conditions.IsFalse(m, infrav1.BootstrapSucceededCondition) && !desired.WantsBootstrapExtension(s.AzureCluster, m) {
			condition.True(m, infrav1.BootstrapSucceededCondition, condition.Provisioned)
		}
		return 0
	}
	since := conditions.Get(m, infrav1.VMRunningCondition)
	if s.vm == nil || since == nil || since.Status == metav1.ConditionFalse && since.Reason != infrav1.CreatingReason {
		return 0
	}
	due, again := cloud.BootstrapLook(now.Sub(since.LastTransitionTime.Time))
	if !due {
		return again
	}
	text, err := s.Azure.Console(ctx, desired.VMID(s.AzureCluster, s.vmName))
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The serial console was not read", "reason", err.Error())
		return again
	}
	if reason, message, failed := cloud.BootstrapFailure(text, s.machine.Name); failed {
		condition.False(m, infrav1.BootstrapSucceededCondition, reason, message)
	}
	return again
}
