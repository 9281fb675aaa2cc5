package azuremachinepool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/windows"
)

// Reasons of conditions that nobody has to act on, and of what is wrong with a pool.
const (
	waitingForInfrastructure = infrav1.WaitingForClusterInfraReason
	waitingForBootstrapData  = infrav1.WaitingForBootstrapDataReason
	invalidConfiguration     = "InvalidConfiguration"
	scaling                  = "Scaling"
	rolling                  = "RollingUpdate"
)

// wait ends the pass until the cluster's network is there and the bootstrap provider
// has rendered the pool's data. Both are events.
func (r *Reconciler) wait(_ context.Context, s *scope) (ctrl.Result, error) {
	if s.azureCluster == nil {
		return s.hold(waitingForInfrastructure, fmt.Sprintf("AzureCluster %s of the cluster does not exist", s.cluster.Spec.InfrastructureRef.Name), r.Resync)
	}
	if p := s.cluster.Status.Initialization.InfrastructureProvisioned; p == nil || !*p {
		return s.hold(waitingForInfrastructure, "the network of the cluster is not provisioned yet; see AzureCluster "+s.azureCluster.Name, r.Resync)
	}
	if s.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName == nil {
		return s.hold(waitingForBootstrapData, "the bootstrap provider has not rendered the pool's data yet; see the bootstrap config of MachinePool "+s.machinePool.Name, r.Resync)
	}
	return ctrl.Result{}, nil
}

// open finds the cluster's credentials.
func (r *Reconciler) open(ctx context.Context, s *scope) (ctrl.Result, error) {
	session, err := r.Opener.Open(ctx, s.azureCluster)
	if refused, ok := errors.AsType[*cloud.IdentityError](err); ok {
		return s.hold(refused.Reason, refused.Message, r.Resync)
	}
	s.azure = session
	return ctrl.Result{}, err
}

func (s *scope) windows() bool { return s.spec.OSDisk.OSType == infrav1.WindowsOS }

func (s *scope) flexible() bool {
	return s.pool.Spec.OrchestrationMode == infrav1.FlexibleOrchestrationMode
}

func (s *scope) setID() string { return desired.ScaleSetID(s.azureCluster, s.name) }

// chooseName decides on the scale set's name. A set that exists keeps it; of two new
// ones that would share a name the older one has it.
func (r *Reconciler) chooseName(ctx context.Context, s *scope) (ctrl.Result, error) {
	if name := givenName(s.pool); name != "" {
		s.name = name
		return ctrl.Result{}, nil
	}
	s.name = usualName(s.pool)
	if !s.windows() {
		return ctrl.Result{}, nil
	}
	taken, err := r.takenNames(ctx, s)
	if err != nil || !taken[strings.ToLower(s.name)] {
		return ctrl.Result{}, err
	}
	s.name = windows.ScaleSetName(s.pool.Name, func(name string) bool { return taken[strings.ToLower(name)] })
	return ctrl.Result{}, cloud.KeepName(ctx, r.Client, s.pool, s.name)
}

// takenNames are the lower-case names of the scale sets that share the resource group
// and came first.
func (r *Reconciler) takenNames(ctx context.Context, s *scope) (map[string]bool, error) {
	groups, err := cloud.Neighbours(ctx, r.Client, s.azureCluster)
	if err != nil {
		return nil, err
	}
	var all infrav1.AzureMachinePoolList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for i := range all.Items {
		other := &all.Items[i]
		if other.UID == s.pool.UID || !groups[client.ObjectKey{Namespace: other.Namespace, Name: other.Labels[clusterv1.ClusterNameLabel]}] {
			continue
		}
		if name := givenName(other); name != "" {
			taken[strings.ToLower(name)] = true
		} else if cloud.Before(other, s.pool) {
			taken[strings.ToLower(usualName(other))] = true
		}
	}
	return taken, nil
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
