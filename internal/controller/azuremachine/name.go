package azuremachine

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/azurename"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/windows"
)

// naming returns the rules by which computer names of machines are chosen.
func naming() azurename.Naming[*infrav1.AzureMachine] {
	return azurename.Naming[*infrav1.AzureMachine]{
		ID:         desired.VMID,
		ProviderID: func(m *infrav1.AzureMachine) string { return *cmp.Or(m.Spec.ProviderID, new("")) },
		Windows:    func(m *infrav1.AzureMachine) bool { return m.Spec.OSDisk.OSType == infrav1.WindowsOS },
		Short:      windows.ComputerName,
	}
}

// name chooses the computer name. A provider ID that is not the machine's own ends the pass, unless the machine is
// being deleted: then the machine's own resources are deleted.
func (r *Reconciler) name(ctx context.Context, s *scope) pass.Result {
	name, refused, bound, err := naming().Bind(ctx, r.Client, s.Azure, s.AzureCluster, s.Cluster.Name, "AzureMachine", s.azureMachine,
		func() client.ObjectList { return &infrav1.AzureMachineList{} })
	if err != nil {
		return pass.Error(err)
	}
	s.vmName, s.Azure = name, bound
	if refused != "" && s.azureMachine.DeletionTimestamp.IsZero() {
		return pass.Blocked(cloud.InvalidConfiguration, fmt.Sprintf("spec.providerID is %s, which is not this machine's: its own is %s; "+
			"delete this AzureMachine, or correct the field", refused, desired.ProviderID(desired.VMID(s.AzureCluster, name))), r.Resync)
	}
	return pass.Next()
}
