package azuremachine

import (
	"cmp"
	"context"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/windows"
)

// naming returns how the computer names of machines are chosen.
func naming() cloud.Naming[*infrav1.AzureMachine] {
	return cloud.Naming[*infrav1.AzureMachine]{
		ProviderID: func(m *infrav1.AzureMachine) string { return *cmp.Or(m.Spec.ProviderID, new("")) },
		Windows:    func(m *infrav1.AzureMachine) bool { return m.Spec.OSDisk.OSType == infrav1.WindowsOS },
		Short:      windows.ComputerName,
	}
}

// name chooses the computer name.
func (r *Reconciler) name(ctx context.Context, s *scope) (result pass.Result) {
	s.vmName, result.Err = naming().Choose(ctx, r.Client, s.AzureCluster, s.azureMachine, &infrav1.AzureMachineList{})
	return result
}
