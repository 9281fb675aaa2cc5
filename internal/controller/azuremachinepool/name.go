package azuremachinepool

import (
	"context"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/windows"
)

// naming returns how the names of scale sets are chosen.
func naming() cloud.Naming[*infrav1.AzureMachinePool] {
	return cloud.Naming[*infrav1.AzureMachinePool]{
		ProviderID: func(p *infrav1.AzureMachinePool) string { return p.Spec.ProviderID },
		Windows:    func(p *infrav1.AzureMachinePool) bool { return p.Spec.Template.OSDisk.OSType == infrav1.WindowsOS },
		Short:      windows.ScaleSetName,
	}
}

// chooseName chooses the scale set's name.
func (r *Reconciler) chooseName(ctx context.Context, s *scope) (result pass.Result) {
	s.name, result.Err = naming().Choose(ctx, r.Client, s.AzureCluster, s.pool, &infrav1.AzureMachinePoolList{})
	return result
}
