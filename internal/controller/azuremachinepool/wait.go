package azuremachinepool

import (
	"context"
	"fmt"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
)

// wait ends the pass until the cluster's network exists and the bootstrap provider has rendered the pool's data; both
// events trigger a pass.
func (r *Reconciler) wait(_ context.Context, s *scope) pass.Result {
	s.pool.Status.InfrastructureMachineKind = infrav1.AzureMachinePoolMachineKind
	switch provisioned := s.Cluster.Status.Initialization.InfrastructureProvisioned; {
	case s.AzureCluster == nil:
		return pass.Blocked(infrav1.WaitingForClusterInfraReason,
			fmt.Sprintf("AzureCluster %s of the cluster does not exist", s.Cluster.Spec.InfrastructureRef.Name),
			r.Resync)
	case !cloud.Recorded(s.AzureCluster, s.Cluster):
		return pass.Wait(soon) // a temporary state
	case provisioned == nil || !*provisioned:
		return pass.Blocked(infrav1.WaitingForClusterInfraReason,
			"the network of the cluster is not provisioned yet; see AzureCluster "+s.AzureCluster.Name, r.Resync)
	case s.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName == nil:
		return pass.Blocked(infrav1.WaitingForBootstrapDataReason,
			"the bootstrap provider has not rendered the pool's data yet; see the bootstrap config of MachinePool "+
				s.machinePool.Name, r.Resync)
	}
	return pass.Next()
}

// open opens a session with the cluster's credentials.
func (r *Reconciler) open(ctx context.Context, s *scope) pass.Result {
	return s.Open(ctx, r.Opener, r.Resync)
}

func (s *scope) windows() bool { return s.spec.OSDisk.OSType == infrav1.WindowsOS }

func (s *scope) flexible() bool {
	return s.pool.Spec.OrchestrationMode == infrav1.FlexibleOrchestrationMode
}

func (s *scope) setID() string { return desired.ScaleSetID(s.AzureCluster, s.name) }
