package azuremachine

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
)

// wait ends the pass until the cluster's network exists and the bootstrap provider has rendered the machine's data;
// both events trigger a pass. It ends every pass over a machine that has failed permanently.
func (r *Reconciler) wait(_ context.Context, s *scope) pass.Result {
	switch provisioned := s.Cluster.Status.Initialization.InfrastructureProvisioned; {
	case s.azureMachine.Status.FailureReason != nil:
		return pass.Done()
	case s.AzureCluster == nil:
		return pass.Blocked(infrav1.WaitingForClusterInfraReason,
			fmt.Sprintf("AzureCluster %s of the cluster does not exist", s.Cluster.Spec.InfrastructureRef.Name),
			r.Resync)
	case !cloud.Recorded(s.AzureCluster, s.Cluster) && s.azureMachine.Spec.ProviderID != nil:
		return pass.Wait(soon) // happens briefly after an update or a move of the cluster
	case !cloud.Recorded(s.AzureCluster, s.Cluster):
		return pass.Blocked(infrav1.WaitingForClusterInfraReason, "AzureCluster "+s.AzureCluster.Name+" has no record of its owner yet",
			soon)
	case provisioned == nil || !*provisioned:
		return pass.Blocked(infrav1.WaitingForClusterInfraReason,
			"the network of the cluster is not provisioned yet; see AzureCluster "+s.AzureCluster.Name, r.Resync)
	case s.machine.Spec.Bootstrap.DataSecretName == nil && s.azureMachine.Spec.ProviderID == nil:
		return pass.Blocked(infrav1.WaitingForBootstrapDataReason,
			"the bootstrap provider has not rendered the machine's data yet; see the bootstrap config of Machine "+s.machine.Name,
			r.Resync)
	}
	return pass.Next()
}

// refuse marks a machine as failed permanently if it can never be created.
func (r *Reconciler) refuse(_ context.Context, s *scope) pass.Result {
	if util.IsControlPlaneMachine(s.machine) && s.windows() {
		return pass.Failed(cloud.InvalidConfiguration, "spec.osDisk.osType is Windows, but Machine "+s.machine.Name+
			" belongs to the control plane, and Kubernetes runs control planes on Linux only; set osType Linux "+
			"in the AzureMachineTemplate of the control plane")
	}
	return pass.Next()
}

func (s *scope) windows() bool { return s.azureMachine.Spec.OSDisk.OSType == infrav1.WindowsOS }

// open opens a session with the cluster's credentials.
func (r *Reconciler) open(ctx context.Context, s *scope) pass.Result {
	return s.Open(ctx, r.Opener, r.Resync)
}
