package v1beta1

// Condition types. The names are CAPZ's, as metav1 conditions; Ready is the
// summary.
const (
	AvailabilitySetReadyCondition       = "AvailabilitySetReady"
	BastionHostReadyCondition           = "BastionHostReady"
	BootstrapSucceededCondition         = "BootstrapSucceeded"
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
	SecurityGroupsReadyCondition        = "SecurityGroupsReady"
	SubnetsReadyCondition               = "SubnetsReady"
	VMRunningCondition                  = "VMRunning"
	VNetReadyCondition                  = "VNetReady"
	VnetPeeringReadyCondition           = "VnetPeeringReady"
)
