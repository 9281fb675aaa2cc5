package azuremachine

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/console"
	"casement.dev/casement/internal/controller/pass"
)

// lastWait is the time after a machine has joined for which its console is read for failures of the commands after kubeadm.
const lastWait = 10 * time.Minute

// bootstrap explains in the condition BootstrapSucceeded why a running virtual machine has not become a node, as far as
// its serial console shows the reason. For a machine that has become a node, it names once the bootstrap commands that
// failed or had no effect.
func (r *Reconciler) bootstrap(ctx context.Context, s *scope) pass.Result {
	return pass.Within(r.readConsole(ctx, s, time.Now()))
}

// readConsole reads the console and returns the time until the next read, or 0 for none.
func (r *Reconciler) readConsole(ctx context.Context, s *scope, now time.Time) time.Duration {
	m := s.azureMachine
	joined := s.machine.Status.NodeRef.IsDefined()
	if joined {
		if desired.WantsBootstrapExtension(s.AzureCluster, m) ||
			conditions.GetReason(m, infrav1.BootstrapSucceededCondition) == infrav1.JoinedReason {
			return 0
		}
		if conditions.IsFalse(m, infrav1.BootstrapSucceededCondition) {
			condition.True(m, infrav1.BootstrapSucceededCondition, condition.Provisioned)
		}
	}
	since := conditions.Get(m, infrav1.VMRunningCondition)
	if s.vm == nil || since == nil || since.Status == metav1.ConditionFalse && since.Reason != infrav1.CreatingReason {
		return 0
	}
	id := desired.VMID(s.AzureCluster, s.vmName)
	due, again := r.looks.Due(id, since.LastTransitionTime.Time, now)
	if !due {
		return again
	}
	text, err := s.Azure.Console(ctx, id)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The serial console was not read", "reason", err.Error())
		return again
	}
	if joined {
		notes, ended := console.Notes(text)
		if !ended && again < lastWait {
			return again
		}
		condition.TrueWith(m, infrav1.BootstrapSucceededCondition, infrav1.JoinedReason, notes)
		return 0
	}
	if reason, message, failed := console.Failure(text, s.machine.Name); failed {
		condition.False(m, infrav1.BootstrapSucceededCondition, reason, message)
	}
	return again
}
