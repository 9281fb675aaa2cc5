package azuremachinepool

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
)

// Reasons of conditions that nobody has to act on, and of what is wrong with a pool.
const (
	waitingForInfrastructure = infrav1.WaitingForClusterInfraReason
	waitingForBootstrapData  = infrav1.WaitingForBootstrapDataReason
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
