package v1beta1

// Condition types. The names are CAPZ's, as metav1 conditions; Ready is the
// summary.
const (
	AvailabilitySetReadyCondition       = "AvailabilitySetReady"
	BastionHostReadyCondition           = "BastionHostReady"
	BootstrapSucceededCondition         = "BootstrapSucceeded"
	DisksReadyCondition                 = "DisksReady"
	InboundNATRulesReadyCondition       = "InboundNATRulesReady"
	LoadBalancersReadyCondition         = "LoadBalancersReady"
	NATGatewaysReadyCondition           = "NATGatewaysReady"
	NetworkInfrastructureReadyCondition = "NetworkInfrastructureReady"
	NetworkInterfaceReadyCondition      = "NetworkInterfacesReady"
	PrivateDNSLinkReadyCondition        = "PrivateDNSLinkReady"
	PrivateDNSRecordReadyCondition      = "PrivateDNSRecordReady"
	PrivateDNSZoneReadyCondition        = "PrivateDNSZoneReady"
	PrivateEndpointsReadyCondition      = "PrivateEndpointsReady"
	PublicIPsReadyCondition             = "PublicIPsReady"
	ResourceGroupReadyCondition         = "ResourceGroupReady"
	RoleAssignmentReadyCondition        = "RoleAssignmentReady"
	RouteTablesReadyCondition           = "RouteTablesReady"
	ScaleSetDesiredReplicasCondition    = "ScaleSetDesiredReplicas"
	ScaleSetModelUpdatedCondition       = "ScaleSetModelUpdated"
	ScaleSetRunningCondition            = "ScaleSetRunning"
	SecurityGroupsReadyCondition        = "SecurityGroupsReady"
	SubnetsReadyCondition               = "SubnetsReady"
	VMIdentitiesReadyCondition          = "VMIdentitiesReady"
	VMRunningCondition                  = "VMRunning"
	VNetReadyCondition                  = "VNetReady"
	VnetPeeringReadyCondition           = "VnetPeeringReady"
)

// Reasons of conditions that others may act on. Where Azure refused something,
// the reason is Azure's own error code instead.
const (
	BootstrapFailedReason               = "BootstrapFailed"
	BootstrapInProgressReason           = "BootstrapInProgress"
	CreatingReason                      = "Creating"
	DeletedReason                       = "Deleted"
	DeletingReason                      = "Deleting"
	DeletionFailedReason                = "DeletionFailed"
	ExternallyManagedControlPlaneReason = "ExternallyManagedControlPlane"
	FailedReason                        = "Failed"
	NamespaceNotAllowedByIdentityReason = "NamespaceNotAllowedByIdentity"
	UpdatingReason                      = "Updating"
	UserAssignedIdentityMissingReason   = "UserAssignedIdentityMissing"
	VMProvisionFailedReason             = "VMProvisionFailed"
	WaitingForBootstrapDataReason       = "WaitingForBootstrapData"
	WaitingForClusterInfraReason        = "WaitingForClusterInfrastructure"
)

// Annotations.
const (
	// WindowsServerVersionAnnotation chooses the Windows image of a machine or
	// pool, such as windows-2025. It belongs into the metadata of a template's
	// template, from where Cluster API copies it.
	WindowsServerVersionAnnotation = "windowsServerVersion"

	// RuntimeAnnotation is containerd or, for Kubernetes before 1.24, dockershim.
	RuntimeAnnotation = "runtime"
)
