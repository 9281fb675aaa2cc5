package v1beta1

// Condition types. The names are CAPZ's, as metav1 conditions; Ready is the
// summary.
const (
	AvailabilitySetReadyCondition       = "AvailabilitySetReady"
	AzureJSONReadyCondition             = "AzureJSONReady"
	BastionHostReadyCondition           = "BastionHostReady"
	BootstrapSecretReadyCondition       = "BootstrapSecretReady"
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
	SyncedCondition                     = "Synced"
	VaultReadyCondition                 = "VaultReady"
	VMIdentitiesReadyCondition          = "VMIdentitiesReady"
	VMRunningCondition                  = "VMRunning"
	VNetReadyCondition                  = "VNetReady"
	VnetPeeringReadyCondition           = "VnetPeeringReady"
)

// Reasons of conditions that users and programs may act on. If Azure refuses something, the reason is Azure's own error
// code instead.
const (
	BootstrapFailedReason               = "BootstrapFailed"
	BootstrapInProgressReason           = "BootstrapInProgress"
	CreatingReason                      = "Creating"
	DeletedReason                       = "Deleted"
	DeletingReason                      = "Deleting"
	DeletionFailedReason                = "DeletionFailed"
	ExternallyManagedControlPlaneReason = "ExternallyManagedControlPlane"
	FailedReason                        = "Failed"
	JoinedReason                        = "Joined"
	NamespaceNotAllowedByIdentityReason = "NamespaceNotAllowedByIdentity"
	OwnedByAnotherReason                = "OwnedByAnother"
	UpdatingReason                      = "Updating"
	UserAssignedIdentityMissingReason   = "UserAssignedIdentityMissing"
	VMProvisionFailedReason             = "VMProvisionFailed"
	WaitingForBootstrapDataReason       = "WaitingForBootstrapData"
	WaitingForClusterInfraReason        = "WaitingForClusterInfrastructure"
)

// Values of BootstrapSecretsAnnotation.
const (
	BootstrapSecretsInKeyVault   = "KeyVault"
	BootstrapSecretsInCustomData = "CustomData"
)

// Annotations.
const (
	// BootstrapSecretsAnnotation on an AzureCluster selects the storage of its machines' bootstrap data: KeyVault or
	// CustomData, the default. On an AzureMachine or AzureMachinePool (from the metadata of a template's template) it
	// selects the storage for that object alone.
	BootstrapSecretsAnnotation = "infrastructure.cluster.x-k8s.io/bootstrap-secrets"

	// BootstrapVaultAnnotation on an AzureCluster is the name of its key vault. casement chooses a name that is not in
	// use in any Azure tenant, and stores it here.
	BootstrapVaultAnnotation = "infrastructure.cluster.x-k8s.io/bootstrap-vault"

	// OwnerAnnotation on an AzureCluster is the value of the tag casement_owner on all resources that casement creates
	// for it in Azure. It is chosen once; clusterctl move keeps it.
	OwnerAnnotation = "infrastructure.cluster.x-k8s.io/owner"

	// OwnerForAnnotation is the UID of the Cluster that OwnerAnnotation is for, so that a copy of the AzureCluster does
	// not own the original's resources. While the Cluster is paused, the value is moving:NAMESPACE/NAME, and the next
	// Cluster of that name becomes the owner.
	OwnerForAnnotation = "infrastructure.cluster.x-k8s.io/owner-for"

	// TakeOverAnnotation on an AzureCluster has the value of the tag casement_owner of the
	// cluster whose Azure resources it takes over, such as after a restore from a backup.
	TakeOverAnnotation = "infrastructure.cluster.x-k8s.io/take-over"

	// ClientSecretNamespacesAnnotation on a Secret, or on the AzureClusterIdentity of the same namespace, lists the
	// other namespaces, separated by commas, or * for all, in which the client secret may be written in plain text:
	// into the azure.json of machines without an identity.
	ClientSecretNamespacesAnnotation = "infrastructure.cluster.x-k8s.io/client-secret-namespaces"

	// WindowsServerVersionAnnotation chooses the Windows image of a machine or
	// pool, such as windows-2025. It belongs into the metadata of a template's
	// template, from where Cluster API copies it.
	WindowsServerVersionAnnotation = "windowsServerVersion"

	// RuntimeAnnotation is containerd or, for Kubernetes before 1.24, dockershim.
	RuntimeAnnotation = "runtime"
)
