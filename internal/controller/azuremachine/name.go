package azuremachine

import (
	"context"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/windows"
)

// name decides on the computer name. A machine that exists keeps its name; of two
// new ones that would share a name the older one has it.
func (r *Reconciler) name(ctx context.Context, s *scope) (ctrl.Result, error) {
	if name := givenName(s.azureMachine); name != "" {
		s.vmName = name
		return ctrl.Result{}, nil
	}
	s.vmName = usualName(s.azureMachine)
	if !s.windows() {
		return ctrl.Result{}, nil
	}
	taken, err := r.takenNames(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !taken[strings.ToLower(s.vmName)] {
		return ctrl.Result{}, nil
	}
	s.vmName = windows.ComputerName(s.azureMachine.Name, func(name string) bool { return taken[strings.ToLower(name)] })
	return ctrl.Result{}, cloud.KeepName(ctx, r.Client, s.azureMachine, s.vmName)
}

// takenNames are the lower-case names of the machines that share the resource
// group and came first.
func (r *Reconciler) takenNames(ctx context.Context, s *scope) (map[string]bool, error) {
	groups, err := cloud.Neighbours(ctx, r.Client, s.azureCluster)
	if err != nil {
		return nil, err
	}
	var all infrav1.AzureMachineList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for i := range all.Items {
		other := &all.Items[i]
		if other.UID == s.azureMachine.UID || !groups[client.ObjectKey{Namespace: other.Namespace, Name: other.Labels[clusterv1.ClusterNameLabel]}] {
			continue
		}
		if name := givenName(other); name != "" {
			taken[strings.ToLower(name)] = true
		} else if cloud.Before(other, s.azureMachine) {
			taken[strings.ToLower(usualName(other))] = true
		}
	}
	return taken, nil
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
