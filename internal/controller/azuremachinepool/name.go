package azuremachinepool

import (
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

// naming returns the rules by which names of scale sets are chosen.
func naming() azurename.Naming[*infrav1.AzureMachinePool] {
	return azurename.Naming[*infrav1.AzureMachinePool]{
		ID:         desired.ScaleSetID,
		ProviderID: func(p *infrav1.AzureMachinePool) string { return p.Spec.ProviderID },
		Windows:    func(p *infrav1.AzureMachinePool) bool { return p.Spec.Template.OSDisk.OSType == infrav1.WindowsOS },
		Short:      windows.ScaleSetName,
	}
}

// chooseName chooses the scale set's name in the same way as a machine's name.
func (r *Reconciler) chooseName(ctx context.Context, s *scope) pass.Result {
	name, refused, bound, err := naming().Bind(ctx, r.Client, s.Azure, s.AzureCluster, s.Cluster.Name, "AzureMachinePool", s.pool,
		func() client.ObjectList { return &infrav1.AzureMachinePoolList{} })
	if err != nil {
		return pass.Error(err)
	}
	s.name, s.Azure = name, bound
	if refused != "" && s.pool.DeletionTimestamp.IsZero() {
		return pass.Blocked(cloud.InvalidConfiguration, fmt.Sprintf("spec.providerID is %s, which is not this pool's: its own is %s; "+
			"delete this AzureMachinePool, or correct the field", refused, desired.ProviderID(s.setID())), r.Resync)
	}
	return pass.Next()
}
