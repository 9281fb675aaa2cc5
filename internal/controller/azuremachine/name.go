package azuremachine

import (
	"cmp"
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/windows"
)

// name decides on the computer name. A machine that exists keeps its name; of two
// new ones that would share a name the older one has it.
func (r *Reconciler) name(ctx context.Context, s *scope) (ctrl.Result, error) {
	if name := givenName(s.azureMachine); name != "" || !s.windows() {
		s.vmName = cmp.Or(name, usualName(s.azureMachine))
		return ctrl.Result{}, nil
	}
	var list infrav1.AzureMachineList
	if err := r.Client.List(ctx, &list); err != nil {
		return ctrl.Result{}, err
	}
	var all []*infrav1.AzureMachine
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	naming := cloud.Naming[*infrav1.AzureMachine]{Given: givenName, Usual: usualName, Other: windows.ComputerName}
	var err error
	s.vmName, err = naming.Choose(ctx, r.Client, s.azureCluster, s.azureMachine, all)
	return ctrl.Result{}, err
}

// givenName is the name that a machine has for good, and "" while none is fixed.
func givenName(m *infrav1.AzureMachine) string {
	if m.Spec.ProviderID != nil && *m.Spec.ProviderID != "" {
		return desired.LastSegment(*m.Spec.ProviderID)
	}
	return m.Annotations[cloud.NameAnnotation]
}

// usualName is the name that a machine has when no other one stands in its way.
func usualName(m *infrav1.AzureMachine) string {
	if m.Spec.OSDisk.OSType == infrav1.WindowsOS {
		return windows.ComputerName(m.Name, nil)
	}
	return m.Name
}
