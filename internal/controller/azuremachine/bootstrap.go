package azuremachine

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

// lookAtBootstrap says in BootstrapSucceeded why a virtual machine that is there has
// not become a node, as far as its serial console tells. It returns when to look
// again, 0 for not at all.
func (r *Reconciler) lookAtBootstrap(ctx context.Context, s *scope, now time.Time) time.Duration {
	m := s.azureMachine
	if s.machine.Status.NodeRef.IsDefined() {
		if conditions.IsFalse(m, infrav1.BootstrapSucceededCondition) && !desired.WantsBootstrapExtension(s.azureCluster, m) {
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
	text, err := s.azure.Console(ctx, desired.VMID(s.azureCluster, s.vmName))
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The serial console was not read", "reason", err.Error())
		return again
	}
	if reason, message, failed := cloud.BootstrapFailure(text, s.machine.Name); failed {
		condition.False(m, infrav1.BootstrapSucceededCondition, reason, message)
	}
	return again
}

// lookAtPower says in VMRunning why a node is lost, where its virtual machine does not
// run. Only a lost node costs the call.
func (r *Reconciler) lookAtPower(ctx context.Context, s *scope) {
	m := s.azureMachine
	if !cloud.NodeLost(s.machine) || !conditions.IsTrue(m, infrav1.VMRunningCondition) {
		return
	}
	view, err := s.azure.View(ctx, desired.VMID(s.azureCluster, s.vmName))
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The power state was not read", "reason", err.Error())
		return
	}
	if off := view.Off("virtual machine "+s.vmName, m.Spec.SpotVMOptions != nil); off != "" {
		condition.False(m, infrav1.VMRunningCondition, cloud.VMStopped, off)
	}
}
