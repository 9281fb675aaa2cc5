package azuremachinepool

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/windows"
)

// naming says how scale sets get their names.
func naming() cloud.Naming[*infrav1.AzureMachinePool] {
	return cloud.Naming[*infrav1.AzureMachinePool]{
		ProviderID: func(p *infrav1.AzureMachinePool) string { return p.Spec.ProviderID },
		Windows:    func(p *infrav1.AzureMachinePool) bool { return p.Spec.Template.OSDisk.OSType == infrav1.WindowsOS },
		Short:      windows.ScaleSetName,
	}
}

// chooseName decides on the scale set's name.
func (r *Reconciler) chooseName(ctx context.Context, s *scope) (_ ctrl.Result, err error) {
	s.name, err = naming().Choose(ctx, r.Client, s.azureCluster, s.pool, &infrav1.AzureMachinePoolList{})
	return ctrl.Result{}, err
}
