package azuremachine

import (
	"context"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/windows"
)

// nameAnnotation holds the computer name of a machine that could not have the
// usual one, so that it keeps its name when the machine that has the usual one
// goes away.
const nameAnnotation = "infrastructure.cluster.x-k8s.io/computer-name"

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
	return ctrl.Result{}, r.keepName(ctx, s)
}

// keepName writes the annotation before anything in Azure bears the name.
func (r *Reconciler) keepName(ctx context.Context, s *scope) error {
	base := s.azureMachine.DeepCopy()
	updated := base.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	updated.Annotations[nameAnnotation] = s.vmName
	if err := r.Client.Patch(ctx, updated, client.MergeFrom(base)); err != nil {
		return err
	}
	s.azureMachine.SetAnnotations(updated.Annotations)
	return nil
}

// takenNames are the lower-case names of the machines that share the resource
// group and came first.
func (r *Reconciler) takenNames(ctx context.Context, s *scope) (map[string]bool, error) {
	groups, err := r.clustersOfGroup(ctx, s.azureCluster)
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
		} else if before(other, s.azureMachine) {
			taken[strings.ToLower(usualName(other))] = true
		}
	}
	return taken, nil
}

// clustersOfGroup are the clusters that keep their machines in the same resource
// group, this one included.
func (r *Reconciler) clustersOfGroup(ctx context.Context, c *infrav1.AzureCluster) (map[client.ObjectKey]bool, error) {
	var all infrav1.AzureClusterList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil, err
	}
	keys := map[client.ObjectKey]bool{}
	for i := range all.Items {
		other := &all.Items[i]
		if strings.EqualFold(desired.ClusterGroup(other).ID(), desired.ClusterGroup(c).ID()) {
			keys[client.ObjectKey{Namespace: other.Namespace, Name: other.Labels[clusterv1.ClusterNameLabel]}] = true
		}
	}
	return keys, nil
}

// givenName is the name that a machine has for good, and "" while none is fixed.
func givenName(m *infrav1.AzureMachine) string {
	if m.Spec.ProviderID != nil && *m.Spec.ProviderID != "" {
		return desired.LastSegment(*m.Spec.ProviderID)
	}
	return m.Annotations[nameAnnotation]
}

// usualName is the name that a machine has when no other one stands in its way.
func usualName(m *infrav1.AzureMachine) string {
	if m.Spec.OSDisk.OSType == infrav1.WindowsOS {
		return windows.ComputerName(m.Name, nil)
	}
	return m.Name
}

// before orders machines by age and, of the same second, by name.
func before(a, b *infrav1.AzureMachine) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}
