package azuremachinepool

import (
	"cmp"
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/windows"
)

// chooseName decides on the scale set's name. A set that exists keeps it; of two new
// ones that would share a name the older one has it.
func (r *Reconciler) chooseName(ctx context.Context, s *scope) (ctrl.Result, error) {
	if name := givenName(s.pool); name != "" || !s.windows() {
		s.name = cmp.Or(name, usualName(s.pool))
		return ctrl.Result{}, nil
	}
	var list infrav1.AzureMachinePoolList
	if err := r.Client.List(ctx, &list); err != nil {
		return ctrl.Result{}, err
	}
	var all []*infrav1.AzureMachinePool
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	naming := cloud.Naming[*infrav1.AzureMachinePool]{Given: givenName, Usual: usualName, Other: windows.ScaleSetName}
	var err error
	s.name, err = naming.Choose(ctx, r.Client, s.azureCluster, s.pool, all)
	return ctrl.Result{}, err
}

// givenName is the name that a scale set has for good, and "" while none is fixed.
func givenName(p *infrav1.AzureMachinePool) string {
	if p.Spec.ProviderID != "" {
		return desired.LastSegment(p.Spec.ProviderID)
	}
	return p.Annotations[cloud.NameAnnotation]
}

// usualName is the name that a scale set has when no other one stands in its way.
func usualName(p *infrav1.AzureMachinePool) string {
	if p.Spec.Template.OSDisk.OSType == infrav1.WindowsOS {
		return windows.ScaleSetName(p.Name, nil)
	}
	return p.Name
}
