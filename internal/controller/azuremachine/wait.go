package azuremachine

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
)

// Reasons of VMRunning while the virtual machine is not there.
const (
	waitingForInfrastructure = infrav1.WaitingForClusterInfraReason
	waitingForBootstrapData  = infrav1.WaitingForBootstrapDataReason
)

// wait ends the pass until the cluster's network is there and the bootstrap
// provider has rendered the machine's data. Both are events.
func (r *Reconciler) wait(_ context.Context, s *scope) (ctrl.Result, error) {
	if s.azureCluster == nil {
		return s.hold(waitingForInfrastructure, fmt.Sprintf("AzureCluster %s of the cluster does not exist", s.cluster.Spec.InfrastructureRef.Name), r.Resync)
	}
	if p := s.cluster.Status.Initialization.InfrastructureProvisioned; p == nil || !*p {
		return s.hold(waitingForInfrastructure, "the network of the cluster is not provisioned yet; see AzureCluster "+s.azureCluster.Name, r.Resync)
	}
	if s.machine.Spec.Bootstrap.DataSecretName == nil && s.azureMachine.Spec.ProviderID == nil {
		return s.hold(waitingForBootstrapData, "the bootstrap provider has not rendered the machine's data yet; see the bootstrap config of Machine "+s.machine.Name, r.Resync)
	}
	return ctrl.Result{}, nil
}

// refuse gives up on what can never work.
func (r *Reconciler) refuse(_ context.Context, s *scope) (ctrl.Result, error) {
	if util.IsControlPlaneMachine(s.machine) && s.windows() {
		s.fail(cloud.InvalidConfiguration, "spec.osDisk.osType is Windows, but Machine "+s.machine.Name+
			" belongs to the control plane, and Kubernetes runs control planes on Linux only; set osType Linux in the AzureMachineTemplate of the control plane")
	}
	return ctrl.Result{}, nil
}

func (s *scope) windows() bool { return s.azureMachine.Spec.OSDisk.OSType == infrav1.WindowsOS }

// open finds the cluster's credentials. Without them the pass ends; the
// AzureCluster says why, and getting them back is an event there.
func (r *Reconciler) open(ctx context.Context, s *scope) (ctrl.Result, error) {
	session, err := r.Opener.Open(ctx, s.azureCluster)
	if refused, ok := errors.AsType[*cloud.IdentityError](err); ok {
		return s.hold(refused.Reason, refused.Message, r.Resync)
	}
	s.azure = session
	return ctrl.Result{}, err
}
