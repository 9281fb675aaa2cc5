package azuremachine

import (
	"context"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
)

// power explains in VMRunning why a node is lost if its virtual machine is not running. It calls Azure only for lost nodes.
func (r *Reconciler) power(ctx context.Context, s *scope) pass.Result {
	m := s.azureMachine
	if !cloud.NodeLost(s.machine) || !conditions.IsTrue(m, infrav1.VMRunningCondition) {
		return pass.Next()
	}
	view, err := s.Azure.View(ctx, desired.VMID(s.AzureCluster, s.vmName))
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The power state was not read", "reason", err.Error())
		return pass.Next()
	}
	if off := view.Off("virtual machine "+s.vmName, m.Spec.SpotVMOptions != nil); off != "" {
		condition.False(m, infrav1.VMRunningCondition, cloud.VMStopped, off)
	}
	return pass.Next()
}
