package condition

import infrav1 "casement.dev/casement/api/v1beta1"

// Table lists the condition types of a kind in the order in which they become true. All are True if there is no
// problem. The first ones are required; those in Optional may be missing. Those in Beside do not affect Ready, because
// the object works whatever their status is.
type Table struct {
	Required []string
	Optional []string
	Beside   []string
	// Waiting are the reasons that need no action by the user and trigger no event.
	Waiting []string
}

// Reasons of an AzureMachinePool's conditions while its instances change.
const (
	Scaling       = "Scaling"
	RollingUpdate = "RollingUpdate"
)

// Cluster are the conditions of an AzureCluster.
var Cluster = Table{
	Required: []string{
		infrav1.NetworkInfrastructureReadyCondition,
		infrav1.ResourceGroupReadyCondition,
		infrav1.VNetReadyCondition,
		infrav1.SubnetsReadyCondition,
	},
	Optional: []string{
		infrav1.SecurityGroupsReadyCondition,
		infrav1.RouteTablesReadyCondition,
		infrav1.PublicIPsReadyCondition,
		infrav1.NATGatewaysReadyCondition,
		infrav1.VnetPeeringReadyCondition,
		infrav1.LoadBalancersReadyCondition,
		infrav1.PrivateDNSZoneReadyCondition,
		infrav1.PrivateDNSLinkReadyCondition,
		infrav1.PrivateDNSRecordReadyCondition,
		infrav1.PrivateEndpointsReadyCondition,
		infrav1.BastionHostReadyCondition,
		infrav1.VaultReadyCondition,
	},
}

// Machine are the conditions of an AzureMachine.
var Machine = Table{
	Required: []string{infrav1.VMRunningCondition},
	Optional: []string{
		infrav1.PublicIPsReadyCondition,
		infrav1.InboundNATRulesReadyCondition,
		infrav1.NetworkInterfaceReadyCondition,
		infrav1.AvailabilitySetReadyCondition,
		infrav1.RoleAssignmentReadyCondition,
		infrav1.BootstrapSecretReadyCondition,
		infrav1.BootstrapSucceededCondition,
	},
	Beside:  []string{infrav1.SyncedCondition},
	Waiting: []string{infrav1.WaitingForClusterInfraReason, infrav1.WaitingForBootstrapDataReason, infrav1.CreatingReason},
}

// MachinePool are the conditions of an AzureMachinePool.
var MachinePool = Table{
	Required: []string{infrav1.ScaleSetRunningCondition},
	Optional: []string{
		infrav1.RoleAssignmentReadyCondition,
		infrav1.BootstrapSecretReadyCondition,
		infrav1.ScaleSetDesiredReplicasCondition,
		infrav1.ScaleSetModelUpdatedCondition,
	},
	Waiting: []string{
		infrav1.WaitingForClusterInfraReason, infrav1.WaitingForBootstrapDataReason, infrav1.CreatingReason, infrav1.UpdatingReason,
		Scaling, RollingUpdate,
	},
}
