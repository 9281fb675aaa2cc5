package cause

import "slices"

// azure has the causes of errors of Azure, and of errors of the provider before it calls Azure. Codes are those of
// Azure Resource Manager and of the compute, network, storage and vault providers. Sources:
// learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors,
// learn.microsoft.com/troubleshoot/azure/virtual-machines/windows/error-codes and
// learn.microsoft.com/entra/identity-platform/reference-error-codes. The last rows are codes that cover many causes:
// the message is decisive.
var azure = slices.Concat(specificAzure, ours, entra, vagueAzure, provisioning)

var specificAzure = []Cause{
	row("BasicSKURetired", "", "Azure makes no basic public IPs and load balancers any more",
		"use the SKU Standard").codes("IPv4BasicSkuPublicIpCountLimitReached"),
	row("AddressQuotaExceeded", `more than \d+ public IP addresses`,
		"the subscription's limit of public IP addresses in the region is reached",
		"request more (az network list-usages --location REGION), or delete addresses that nothing uses: az network public-ip list").
		codes("PublicIPCountLimitReached StaticPublicIPCountLimitReached"),
	row("QuotaExceeded", `exceeding approved .* quota|quota limit`,
		"the subscription's quota for this VM family, region or resource is used up",
		"request more quota (az vm list-usage --location REGION), or choose another VM size").
		codes("QuotaExceeded ResourceQuotaExceeded").only("Quota"),
	row("LimitReached", `LimitReached`, "a limit of Azure, which the message names, is reached",
		"delete what is not needed, spread it over more resources, or ask Microsoft whether the limit can be raised").
		codes("RoleAssignmentLimitExceeded"),
	row("SKUNotAvailable", `requested (VM )?size .* not available|requested resource is not available in the location`,
		"the VM size is not offered in this region or zone",
		"choose another size or zone: az vm list-skus --location REGION --size SIZE --all").
		codes("SkuNotAvailable SKUNotAvailable VMSizeNotSupported SkuNotSupported"),
	row("SpotMarketRefused", `spot.*(not supported|max ?price)`, "Azure gives no spot VM of this size, or not at this price",
		"raise spotVMOptions.maxPrice, choose another size, or use regular VMs").
		codes("SpotPriceGreaterThanProvidedMaxPrice AzureSpotIsNotSupportedForThisVMSize AzureSpotFeatureNotEnabledForSubscription " +
			"AzureSpotVMNotSupportedInAvailabilitySet MaxPriceValueInvalid"),
	row("AllocationFailed", `do not have sufficient capacity`,
		"Azure has no capacity for this size with these constraints (zone, size, accelerated network, proximity) there now",
		"try again later, or choose another size or zone, or fewer constraints").
		codes("AllocationFailed ZonalAllocationFailed OverconstrainedAllocationRequest OverconstrainedZonalAllocationRequest").
		only("Capacity"),
	row("MarketplaceTermsMissing", `legal terms`,
		"the image's marketplace terms are not accepted in the subscription",
		"accept them, with the names of the image: az vm image terms accept --publisher P --offer O --plan SKU").
		codes("MarketplacePurchaseEligibilityFailed ResourcePurchaseValidationFailed"),
	row("PlanInvalid", `requires Plan information`, "the plan that the image needs is missing or is another one",
		"give spec.image.marketplace of the machine template thirdPartyImage: true, and the publisher, offer and SKU of the image").
		codes("VMMarketplaceInvalidInput VMMarketplaceOrderFailed"),
	row("SASExpired", `Signature not valid in the specified time frame|Signature (fields )?not well formed|Signed ?expiry`,
		"the shared access signature (SAS) of the address has expired, or is not valid yet",
		"make a new signature and put its address where the old one is: the image's source, the secret of the volume, or a file's URL"),
	row("ImageNotFound", `image .* (was )?not found`, "the VM image does not exist there",
		"name an image that exists: spec.image of the AzureMachineTemplate, or another Kubernetes version").
		codes("ImageNotFound PlatformImageNotFound GalleryImageNotFound ArtifactNotFound ArtifactVersionNotFound InaccessibleImage " +
			"ImageBlobNotFound"),
	row("DeniedByAssignment", `deny assignment`, "a deny assignment forbids the call; no role overrules it",
		"ask whoever made it, which the message names: a managed application, a deployment stack or Microsoft; a role does not help").
		codes("DenyAssignmentAuthorizationFailed"),
	row("WrongTenant", `wrong issuer|LinkedAccessCheckFailed.*tenant`,
		"the subscription belongs to another tenant than the identity signs in to, or the tenant does not exist",
		"correct spec.tenantID of the AzureClusterIdentity, or spec.subscriptionID of the AzureCluster").
		codes("InvalidAuthenticationTokenTenant InvalidTenant TenantNotFound AADSTS90002"),
	row("LinkedAuthorizationFailed", `permission to perform action\(s\) .* on the linked scope`,
		"casement's identity lacks a right on another resource that the call names: an identity, a subnet, an image or a key",
		"give the identity of the AzureClusterIdentity the action on the linked scope that the message names: Managed Identity Operator for a "+
			"user-assigned identity, Network Contributor for a subnet or group, Reader for an image").
		codes("LinkedAuthorizationFailed"),
	row("AuthorizationFailed", `does not have authorization to perform|does not have permission to perform`,
		"casement's identity lacks rights on the subscription or resource group",
		"give the identity of the AzureClusterIdentity the role Contributor there").
		codes("AuthorizationFailed"),
	row("PolicyDenied", `disallowed by policy`, "an Azure policy forbids the resource",
		"satisfy the policy that the message names, or get an exemption").codes("RequestDisallowedByPolicy RequestDisallowedByAzure"),
	row("ResourceLocked", "", "a lock on the resource or its group forbids the change",
		"ask who made the lock that the message names, and have it removed: az lock list --resource-group GROUP").codes("ScopeLocked"),
	row("SubscriptionDisabled", "", "the subscription is disabled or does not exist",
		"enable the subscription, or correct spec.subscriptionID of the AzureCluster").
		codes("ReadOnlyDisabledSubscription SubscriptionNotFound DisabledSubscription InvalidSubscriptionId"),
	row("ProviderNotRegistered", `not registered to use namespace`, "the subscription is not registered for the resource provider",
		"register the namespace that the message names: az provider register --namespace NAMESPACE").
		codes("MissingSubscriptionRegistration MissingRegistrationForResourceProvider SubscriptionNotRegistered " +
			"InvalidSubscriptionRegistrationState"),
	row("ExtensionFailed", `VMExtension\w*(Error|Timeout|Failed)|VMExtensionProvisioning|VMExtensionHandler`,
		"an extension of the virtual machine failed",
		"read the extension's message; az vm extension list --resource-group GROUP --vm-name VM -o table shows it"),
	row("AgentSilent", "", "the VM agent does not report to Azure, so extensions do not run",
		"look at the boot log: the agent (waagent, WindowsAzureGuestAgent) has to run and reach 168.63.129.16").
		codes("VMAgentStatusCommunicationError"),
	row("NicReserved", `reserved for (another|a) virtual machine`,
		"the network interface is kept for three minutes for a VM that was to be made with it and failed",
		"wait: casement tries again after 180 s").codes("NicReservedForAnotherVm"),
	row("PrincipalUnknown", `principal .* does not exist in the directory`,
		"Entra ID does not know the principal of the role assignment: a new identity is replicated for some minutes",
		"wait; if it lasts, the identity was deleted: correct systemAssignedIdentityRole or userAssignedIdentities").
		codes("PrincipalNotFound"),
	row("RoleAssigned", "", "the same role is assigned to the same principal at the same scope under another name",
		"nothing has to be done for the right itself; delete the other assignment, or set systemAssignedIdentityRole.name to its name").
		codes("RoleAssignmentExists"),
	row("AddressInUse", `private ip address .* is already|IP address .* (in use|is taken)`,
		"the private address is not free in the subnet, or is none of its addresses",
		"leave the address out, or give one of the subnet that is free: spec.networkSpec of the AzureCluster, or "+
			"privateIPAddress of the machine's interface").
		codes("PrivateIPAddressInUse PrivateIPAddressNotInSubnet PrivateIPAddressIsAllocated PrivateIPAddressInReservedRange " +
			"PublicIPAddressInUse"),
	row("SubnetDelegated", "", "the subnet is delegated to another service, which alone may use it",
		"use another subnet, or take its delegation away").
		codes("ResourceNotPermittedOnDelegatedSubnet"),
	row("SecurityRuleConflict", "", "two rules of a security group have the same priority and direction",
		"give each rule its own priority: securityRules of the subnet in spec.networkSpec").codes("SecurityRuleConflict"),
	row("PublicIPMismatch", "", "a public IP and what uses it differ in SKU, zone or version",
		"make both Standard, and of the same zones").
		codes("PublicIPAndLBSkuDoNotMatch DifferentSkuLoadBalancersAndPublicIPAddressNotAllowedInAvailabilitySet"),
	row("PeeringRefused", "", "the peering of the virtual networks cannot be made as it is",
		"correct vnet.peerings of spec.networkSpec; delete a peering that is Disconnected at both ends, so that it is made again").
		codes("RemotePeeringIsDisconnected AnotherPeeringAlreadyReferencesRemoteVnet"),
	row("TwoBalancers", "", "an interface may be behind one internal and one public load balancer, and not behind two of a kind",
		"use one load balancer: the cluster's name of azure.json (loadBalancerName), or the annotation of the service that names one").
		codes("NetworkInterfaceUsesMultipleLoadBalancersOfSameType"),
	row("StillInUse", `InUse\w*CannotBe(Deleted|Updated)|(Nic|Disk|Subnet|Image)InUse\b|is in use by|still allocated to resource`,
		"another resource still uses this one", "delete or detach the resource that the message names; see whose it is first").
		codes("PublicIPAddressCannotBeDeleted PublicIPPrefixCannotBeDeleted LoadBalancerInUseByVirtualMachineScaleSet " +
			"NetworkSecurityGroupInUseByVirtualMachineScaleSet CannotDeleteNatGatewayAssociatedToSubnet CannotDeleteResource " +
			"ResourceGroupDeletionBlocked AttachDiskWhileBeingDetached").only("InUse"),
	row("ZoneNotSupported", `zone.*not supported`, "the region or size has no such zone",
		"correct failureDomain or zones: az vm list-skus --location REGION --zone -o table").
		codes("InvalidAvailabilityZone AvailabilityZoneNotSupported LocationNotSupportAvailabilityZones"),
	diskLimit,
	row("DiskTooSmall", `disk size \d+ GB is smaller than`, "the OS disk is smaller than that of the image",
		"raise osDisk.diskSizeGB of the machine template to what the message names, or leave it out"),
	row("DiskNotSupported", `EphemeralOSDisk|OS disk of Ephemeral VM|ephemeral.*(not supported|not allowed|is greater)|`+
		`Ultra.*not (supported|enabled)|storage ?account ?type .* not supported`,
		"the VM size does not take a disk of this kind or size", "as the message says: a smaller osDisk.diskSizeGB, another "+
			"diffDiskSettings.placement or kind of disk, or another vmSize").
		codes("StorageAccountTypeNotSupported DiskSizeNotSupported InvalidDiskCapacity"),
	row("EncryptionAtHostOff", `EncryptionAtHost`, "the subscription is not registered for encryption at host, or the size has none",
		"register it (az feature register --namespace Microsoft.Compute --name EncryptionAtHost), or leave securityProfile.encryptionAtHost out"),
	row("FeatureNotRegistered", `not registered for the (preview )?feature`, "the subscription is not registered for a feature that the "+
		"spec needs", "register the feature that the message names: az feature register --namespace NAMESPACE --name FEATURE").
		codes("SubscriptionNotRegisteredForFeature"),
	row("NetworkNotAccelerated", `accelerated ?networking.*(not|is) (supported|allowed)|not supported.*accelerated ?networking`,
		"the VM size has no accelerated networking", "set acceleratedNetworking: false, or choose another size").
		codes("VMSizeIsNotPermittedToEnableAcceleratedNetworking"),
	row("GenerationMismatch", `HypervisorGeneration|Trusted ?Launch|SecurityProfile\.SecurityType|cannot boot Hypervisor Generation`,
		"image, VM size and security type do not fit each other (generation 1 or 2, Trusted launch)",
		"choose a generation 2 image and size, or leave securityProfile out"),
	row("ArchitectureMismatch", `(architecture|Arm64|x64).*(not supported|does not match|cannot be used)`,
		"image and VM size are of different processors (x64, Arm64)", "choose an image of the size's architecture"),
	row("PasswordRefused", `supplied password must be`, "Azure does not accept the administrator's password",
		"leave it to casement, or follow the rules that the message has"),
	row("NameInvalid", `computer name .*(cannot be|is not valid|is invalid)|reserved word|trademark`,
		"Azure does not take the name", "choose another name in the spec that the message names").
		codes("InvalidResourceName ReservedResourceName InvalidResourceGroup DomainNameLabelReserved InvalidDomainNameLabel"),
	row("VaultForbidden", `key ?vault.*forbidden`, "the key vault refuses the caller: its firewall, or a missing role",
		"the message says which; give the role, or open the firewall").
		codes("ForbiddenByFirewall ForbiddenByRbac ForbiddenByPolicy ForbiddenByConnection KeyVaultAccessForbidden"),
	row("PropertyFixed", "", "Azure does not change this property of a resource that exists",
		"undo the change of the spec, or make the resource again (for machines: another template)").
		codes("PropertyChangeNotAllowed"),
	row("ResourceElsewhere", `already exists in location`, "a resource of this name exists in another location",
		"choose another name or resource group, or the location of the one that exists").
		codes("InvalidResourceLocation InvalidResourceGroupLocation"),
	row("LocationRefused", `not available for resource type`, "Azure does not offer this resource in the location",
		"correct spec.location of the AzureCluster: az account list-locations -o table").
		codes("LocationNotAvailableForResourceType LocationRequired RegionDoesNotAllowProvisioning"),
	row("APINotOffered", "", "this Azure does not have the resource type or the api-version that casement asks for",
		"check spec.azureEnvironment; clouds other than the public one get types later").
		codes("NoRegisteredProviderFound InvalidResourceType InvalidApiVersionParameter MissingApiVersionParameter"),
	row("ResourceGroupGone", "", "the resource group that the message names does not exist in Azure, or not any more",
		"correct its name in the spec; where somebody deleted it, what was in it is gone, the disks of etcd too: make the Cluster again").
		codes("ResourceGroupNotFound"),
	row("AzureResourceGone", "", "a resource that this one needs is not there in Azure, or is being deleted",
		"bring back the resource that the message names, or correct the reference to it").
		codes("ParentResourceNotFound ResourceNotFound InvalidResourceReference ResourceGroupBeingDeleted " +
			"StorageAccountNotFound"),
	row("SubnetFull", `does not have enough capacity for \d+ IP`, "the subnet has no free address",
		"use a larger subnet or another one").codes("SubnetIsFull"),
	row("BastionSubnetTooSmall", "", "Azure makes no bastion in a subnet smaller than /26",
		"give AzureBastionSubnet a /26 or larger: spec.bastionSpec.azureBastion.subnet.cidrBlocks of the AzureCluster").
		codes("BastionHostSubnetSizeTooSmall"),
	row("AddressOverlap", `overlaps with`, "address ranges overlap, or a subnet is outside of its network",
		"choose ranges that are apart in spec.networkSpec of the AzureCluster").
		codes("NetcfgInvalidSubnet NetcfgSubnetRangeOutsideVnet NetcfgSubnetRangesOverlap VnetAddressSpacesOverlap " +
			"VnetAddressSpaceOverlapsWithAlreadyPeeredVnet InvalidCIDRNotation InvalidAddressPrefixFormat " +
			"NetcfgInvalidIPAddressPrefix NetcfgInvalidIPAddress InvalidIPAddressFormat"),
	row("InvalidTag", "", "Azure takes no tag of this name or value",
		"shorten or rename the tag in spec.additionalTags: no name has one of <>%&\\?/, more than 512 characters or a prefix of Azure's").
		codes("InvalidTagName InvalidTagNameCharacters InvalidTagValueLength InvalidTags"),
	row("InvalidSecurityRule", "", "a security rule has a port, priority or address that Azure does not take",
		"correct the rule in spec.networkSpec of the AzureCluster: ports 0 to 65535, priorities 100 to 4096, addresses in CIDR notation").
		codes("SecurityRuleInvalidAddressPrefix SecurityRuleInvalidPortRange SecurityRuleInvalidPriority"),
	row("NameTaken", `already taken`, "a name that has to be unique in Azure is taken",
		"choose another name in the spec that the message names").
		codes("DnsRecordInUse StorageAccountAlreadyTaken StorageAccountAlreadyExists VaultAlreadyExists"),
	row("Throttled", `OperationNotAllowed.*rate|RESPONSE 429|status code 429`, "Azure throttles the subscription",
		"wait; see casement calls for who calls most").codes("TooManyRequests SubscriptionRequestsThrottled Throttled"),
	row("NeighbourFailed", `is not in Succeeded state. Resource is in Failed state`,
		"a resource that this one refers to has failed in Azure, and stays so until somebody changes it",
		"look at the resource that the message names, and put it again or delete it: az resource update --ids ID, az resource show --ids ID"),
	row("AzureBusy", `another operation .* in progress`, "another operation on the resource, or on one that it names, is not over",
		"wait: casement tries again; if it lasts: az monitor activity-log list --resource-group GROUP -o table").
		codes("AnotherOperationInProgress RetryableError RetryableErrorDueToAnotherOperation CanceledAndSupersededDueToAnotherOperation " +
			"ReferencedResourceNotProvisioned OperationPreempted ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity").
		only("Busy"),
	row("AzureFails", "", "an operation failed inside Azure",
		"wait: casement tries again; if it lasts, look at status.azure.com and give Microsoft the message's correlation ID").
		codes("InternalServerError ServerTimeout InternalExecutionError NetworkingInternalOperationError GatewayTimeout " +
			"InternalOperationError ServiceUnavailable").only("Transient"),
}

// entra has the codes of Entra ID, which come after those of Resource Manager.
var entra = []Cause{
	row("IdentityUnknown", "", "Entra ID does not know the identity's application in that tenant, or it is disabled there",
		"correct spec.clientID and spec.tenantID of the AzureClusterIdentity, or enable its service principal").
		codes("AADSTS700016 AADSTS7000229 AADSTS7000112"),
	row("FederationMismatch", "", "Entra ID does not accept the token or certificate that the identity signs in with",
		"compare issuer, subject and audience of the federated credential with the token; look at the certificate's age and the clock").
		codes("AADSTS70021 AADSTS700211 AADSTS700212 AADSTS700213 AADSTS700024 AADSTS700027"),
	row("SignInBlocked", "", "a policy of the tenant (Conditional Access) blocks the sign-in",
		"ask the tenant's administrator to exempt the identity").
		codes("AADSTS53003 AADSTS50105 AADSTS50076 AADSTS50079 AADSTS53000 AADSTS53001"),
	row("CredentialsRefused", "", "Entra ID refuses the credentials", "renew the secret that the AzureClusterIdentity names").
		codes("AADSTS7000215 AADSTS7000222 invalid_client InvalidAuthenticationToken unauthorized_client ExpiredAuthenticationToken " +
			"AuthenticationFailed"),
	row("SignInRefused", `AADSTS\d+`, "Entra ID refuses the sign-in",
		"the code's meaning is at https://login.microsoftonline.com/error; the message names what it misses"),
}

// ours are the reasons that casement's controllers use without a code of Azure, and messages of casement.
var ours = []Cause{
	row("IdentityNotSet", "", "the AzureCluster names no identity, so casement cannot sign in to Azure",
		"set spec.identityRef of the AzureCluster to an AzureClusterIdentity: kubectl get azureclusteridentities -A").only("IdentityNotSet"),
	row("IdentityMissing", "", "the AzureClusterIdentity that the AzureCluster names does not exist",
		"apply it, or correct spec.identityRef of the AzureCluster: kubectl get azureclusteridentities -A").only("IdentityNotFound"),
	row("IdentityBeingDeleted", "", "the AzureClusterIdentity is being deleted while the cluster still needs it",
		"delete the cluster first, or name another identity in spec.identityRef; to leave the resources in Azure, annotate the "+
			"AzureCluster with infrastructure.cluster.x-k8s.io/abandon-azure-resources=true").only("IdentityBeingDeleted"),
	row("IdentitySecretMissing", "", "the secret that the AzureClusterIdentity names does not exist",
		"create the secret with the key that the message names, or correct spec.clientSecret of the AzureClusterIdentity").
		only("IdentitySecretNotFound"),
	row("IdentitySecretNotAllowed", "", "the AzureClusterIdentity names a secret of another namespace, which whoever wrote it may not read",
		"have the reference written by somebody who may read the secret, or put the secret in the identity's namespace").
		only("IdentitySecretNotAllowed"),
	row("ClientSecretNotReadable", "", "the identity's client secret may not be written to the machines of the cluster's namespace",
		"give the machines an identity of their own, or have the secret's owner allow the namespace, as the message says").
		only("ClientSecretNotReadable"),
	row("IdentityInvalid", "", "the AzureClusterIdentity lacks a field or its secret, so casement cannot sign in",
		"correct the AzureClusterIdentity as the message says: kubectl describe azureclusteridentities -A").only("IdentityInvalid"),
	row("NamespaceNotAllowed", "", "the AzureClusterIdentity does not allow the cluster's namespace",
		"add the namespace to spec.allowedNamespaces of the AzureClusterIdentity, if its owner agrees").only("NamespaceNotAllowedByIdentity"),
	row("UserAssignedIdentityMissing", "", "a user-assigned identity that the machine asks for does not exist",
		"create it, or correct spec.userAssignedIdentities").only("UserAssignedIdentityMissing"),
	row("OwnedByAnother", "", "a resource of this name in Azure belongs to somebody else",
		"choose another name, or another resource group").only("OwnedByAnother"),
	row("EndpointMissing", "", "the control plane is run by somebody else, and the AzureCluster does not say where",
		"set spec.controlPlaneEndpoint of the AzureCluster to its host and port").only("ExternallyManagedControlPlane"),
	row("VMDeleted", `was deleted in Azure`, "the virtual machine was deleted in Azure, not through Kubernetes",
		"delete the Machine, so that its set makes another"),
	row("SpotEvicted", `\bspot\b.*evict|evict.*\bspot\b`, "the spot VM was evicted", "raise spotVMOptions.maxPrice or use regular VMs"),
	row("UserDataCompressed", `^InvalidBootstrapData: .*(gzip|compressed)`,
		"the bootstrap data is compressed, which cloudbase-init cannot read",
		"leave spec.gzip off; do not compress bootstrap data of Windows machines"),
	row("PasswordTooLong", `^InvalidBootstrapData: .*20 characters`,
		"a user's password is longer than Windows accepts", "shorten it, or leave it out").only("PasswordTooLong"),
	row("WrongCRISocket", `^InvalidBootstrapData: .*(criSocket|socket)`,
		"kubeadm would talk to a CRI socket that is not there",
		"set nodeRegistration.criSocket: npipe:////./pipe/containerd-containerd in the Windows KubeadmConfigTemplate"),
	row("BootstrapSecretUnread", `casement-bootstrap: cannot`,
		"the machine could not fetch its bootstrap script from the cluster's key vault", "look "+
			"at the role assignment on the secret, at the vault's firewall and at the way to 169.254.169.254; or "+
			"set the annotation bootstrap-secrets to CustomData"),
	row("InvalidBootstrapData", "", "a guest could not use the bootstrap data, so no VM is created with it",
		"correct the KubeadmConfigTemplate where the message says").only("InvalidBootstrapData"),
	row("JinjaSyntax", `TemplateSyntaxError|jinja2? syntax|jinja2?\b.*(error|invalid|unexpected)`,
		"the bootstrap data is not a valid Jinja template",
		"escape {{ and {% in files and commands of the KubeadmConfigTemplate"),
	row("InvalidConfiguration", "", "the spec asks for what Azure or the cluster cannot be given",
		"change the spec as the message says"+AnotherTemplate).
		only("InvalidConfiguration InvalidSpec InvalidBody"),
	row("ManagerRightsMissing", `is forbidden: User "system:serviceaccount:\S+" cannot`,
		"casement's manager lacks a right in the management cluster",
		"apply the ClusterRole of the manager's release again; a ClusterRole changed by hand lacks what the message names"),
	row("AzureUnreachable", "", "casement's manager gets no answer from Azure or from its login endpoint",
		"look at the manager's way out (DNS, proxy, firewall) to the host that the message names, and at spec.azureEnvironment").
		only("AzureUnreachable"),
	row("VaultRefused", "", "the cluster's key vault does not take the bootstrap data",
		"the message says why: a role (Key Vault Secrets Officer) of casement's identity, the vault's firewall, or its name").
		only("VaultRefused"),
}

// vagueAzure are codes that cover many causes: each has Microsoft's meaning, and the place of the decisive information.
var vagueAzure = []Cause{
	row("RequestInvalid", "", "Azure refuses a field of the request; the message names it",
		"correct the field of the spec that the message means"+AnotherTemplate).
		only("InvalidParameter InvalidRequestContent InvalidRequestFormat InvalidTemplate BadRequest Invalid InvalidRequest " +
			"LinkedInvalidPropertyId MismatchingResourceSegments InvalidParameterConflict"),
	row("NotSupported", `\bNotSupported: `, "Azure does not support the combination that the spec asks for; the message names it",
		"change what the message names: VM size, disk, image, zone or feature"+AnotherTemplate).
		only("NotSupported FeatureNotSupported"),
	row("OperationRefused", "", "Azure does not allow the operation in the present state of the resource or subscription",
		"the message names the state or limit; change that first: az resource show, az vm list-usage --location REGION").
		only("OperationNotAllowed OperationNotSupported Conflict PreconditionFailed ResourceInUse"),
	row("OperationCancelled", "", "the operation was cancelled in Azure: by a newer one, by a user, or by Azure itself",
		"see who did it: az monitor activity-log list --resource-group GROUP --status Cancelled -o table; casement tries again").
		only("Canceled Cancelled OperationCanceled OperationCancelled"),
	row("AzureNotFound", "", "Azure does not find the resource that the message names",
		"bring it back, or correct the reference to it").only("NotFound"),
	row("AccessDenied", "", "Azure refuses the caller; the message names the right, policy or lock",
		"satisfy what the message names").only("Denied Forbidden Unauthorized"),
}

// provisioning are causes that are explained by the guest's own messages, in the error's details or on the console.
var provisioning = []Cause{
	follows("ProvisioningTimedOut", "", "the guest never reported to Azure that it is up", "look "+
		"at the boot log: an image that is not generalized, a guest that restarts again and again, or no way "+
		"to 168.63.129.16").codes("OSProvisioningTimedOut VMStartTimedOut VMProvisioningTimedOut"),
	follows("ProvisioningFailed", "", "the guest reported to Azure that it could not set itself up",
		"look at the boot log and at the error details: an image that is not generalized, or one that is no node image").
		codes("OSProvisioningClientError OSProvisioningInternalError").only("ProvisioningFailed"),
	follows("VMProvisionFailed", "", "Azure did not get the virtual machine to run",
		"see what the message says and what the boot log shows; delete the Machine, so that its set makes another").
		only("VMProvisionFailed CreateError UpdateError"),
}

// data are the causes in messages of Cluster API's bootstrap provider.
var data = []Cause{
	row("BootstrapTokenRefused", `bootstrap token.*(refused|forbidden|connection)`,
		"no bootstrap token can be made in the workload cluster",
		"look at the control plane: casement why CLUSTER"),
	row("CertificatesMissing", `certificates?.*(not found|missing|lookup)`,
		"the cluster's certificates are not there", "kubectl get secrets -l cluster.x-k8s.io/cluster-name=CLUSTER"),
	row("AzureJSONMissing", `secrets? "[^"]*-azure-json" not found`,
		"casement has not written the cloud provider's configuration of the machines",
		"see the condition AzureJSONReady and the events of the AzureMachineTemplate (or AzureMachinePool) that the secret is named "+
			"after; the identity's client secret may be in a namespace whose owner does not allow it to be written to the machines"),
	row("FileSecretMissing",
		`secrets? "[^"]*" not found|failed to (read|resolve).*secret|secret references? non-existent`,
		"a secret that a file of the bootstrap config is read from is not there",
		"create the secret that the message names, in the namespace of the cluster"),
}

// reach are the causes in the errors of a client that connects to an API server.
var reach = []Cause{
	row("KubeconfigMissing", `has no kubeconfig yet|holds no valid kubeconfig`,
		"the secret with the cluster's kubeconfig is not there, or is no kubeconfig",
		"see that nothing pauses the KubeadmControlPlane, which makes the secret CLUSTER-kubeconfig; delete one that is not valid"),
	clockWrong, proxyFails,
	row("ServerCertificateExpired", `x509: certificate has expired`,
		"the API server's certificate has expired",
		"renew it: roll the control plane out again (spec.rollout.after of the KubeadmControlPlane), or kubeadm certs renew on its machines"),
	row("ServerCertificateUnknown", `x509:`,
		"the API server's certificate is not one that the cluster's kubeconfig trusts",
		"look at what answers at the address; a cluster of the same name may be older: casement get kubeconfig CLUSTER"),
	row("KubeconfigRefused", `\bUnauthorized\b|the server has asked for the client to provide credentials`,
		"the API server refuses the kubeconfig that Cluster API keeps",
		"delete the secret CLUSTER-kubeconfig, so that Cluster API writes it again"),
	row("APIRefused", `connection refused|actively refused`,
		"the address of the API server refuses the connection: it is reached, and nothing serves there",
		"look at the control plane machines and the load balancer's pool: casement tree CLUSTER"),
	row("NoRouteToAPI", `i/o timeout|no route to host|network is unreachable|no such `+
		`host|connectex|request canceled while waiting for connection|context deadline `+
		`exceeded|Client.Timeout|connection reset|EOF`,
		"the API server of the cluster is not reached", "check the control plane machines, the load balancer, "+
			"the NSG's rule for the API port, the route table and DNS"),
}

// deletion are the causes that prevent the deletion of an object.
var deletion = []Cause{
	// Source: k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go.
	row("TwoBudgets", `more than one PodDisruptionBudget`,
		"a pod is in two PodDisruptionBudgets, and such a pod cannot be evicted, so the node is not drained",
		"delete one of the two, or narrow its selector: kubectl get poddisruptionbudgets -A"),
	row("EvictionBlocked", `violate the pod's disruption budget`,
		"a PodDisruptionBudget lets no pod go, so the node is not drained",
		"add replicas elsewhere, relax the budget, or set deletion.nodeDrainTimeoutSeconds of the Machine"),
	row("HookWaits", `WaitingForPreDrainHook|WaitingForPreTerminateHook|WaitingForBeforeDeleteHook`,
		"a deletion hook has not been lifted by whoever set it",
		"remove the hook's annotation (…delete.hook.machine.cluster.x-k8s.io/…) when its owner is gone"),
	row("PodsStay", `still not removed from the Node|waiting for pod \S+ to (finish|terminate)`,
		"the node does not end pods that are evicted: its kubelet does not answer, or the pods take their time",
		"look at the node (casement why NODE); to go on without it set deletion.nodeDrainTimeoutSeconds of the Machine"),
	row("DrainRuleWaits", `waiting for completion`,
		"a MachineDrainRule, or a label of the pod, makes the drain wait until a pod ends by itself",
		"let the pods end or end them; a pod that has ended still counts until it is deleted; to go on without it set "+
			"deletion.nodeDrainTimeoutSeconds of the Machine"),
	row("VolumeAttached", `WaitingForVolumeDetach`, "volumes are still attached to the node", "see kubectl get "+
		"volumeattachments of the cluster; restart the CSI driver's controller, or set "+
		"deletion.nodeVolumeDetachTimeoutSeconds of the Machine"),
}
