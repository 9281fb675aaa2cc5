package cause

// azure has the causes of errors of Azure, and of errors of the provider before it calls
// Azure. Codes are those of Azure Resource Manager and of the compute and network
// providers.
var azure = []Cause{
	row("QuotaExceeded", `QuotaExceeded|exceeding approved .* quota|PublicIPCountLimitReached|LimitReached`,
		"the subscription's quota for this VM family, region or resource is used up",
		"request more quota (az vm list-usage --location REGION), or choose another VM size"),
	row("SKUNotAvailable", `SkuNotAvailable|requested (VM )?size .* not available|VMSizeNotSupported`,
		"the VM size is not offered in this region or zone",
		"choose another size or zone: az vm list-skus --location REGION --size SIZE --all"),
	row("AllocationFailed", `AllocationFailed|OverconstrainedAllocation|ZonalAllocationFailed`,
		"Azure has no capacity for this size there now", "try again later, or choose another size or zone"),
	row("MarketplaceTermsMissing",
		`MarketplacePurchaseEligibilityFailed|ResourcePurchaseValidationFailed|legal terms`,
		"the image's marketplace terms are not accepted in the subscription",
		"az vm image terms accept --publisher P --offer O --plan SKU"),
	row("ImageNotFound", `ImageNotFound|PlatformImageNotFound|GalleryImageNotFound|image .* (was )?not found`,
		"the VM image does not exist there",
		"name an image that exists: spec.image of the AzureMachineTemplate, or another Kubernetes version"),
	row("AuthorizationFailed",
		`AuthorizationFailed|does not have authorization to perform|LinkedAuthorizationFailed`,
		"casement's identity lacks rights on the subscription or resource group",
		"give the identity of the AzureClusterIdentity the role Contributor there"),
	row("CredentialsRefused",
		`AADSTS\d+|invalid_client|InvalidAuthenticationToken|unauthorized_client|ExpiredAuthenticationToken`,
		"Entra ID refuses the credentials", "renew the secret that the AzureClusterIdentity names"),
	row("SubscriptionDisabled", `ReadOnlyDisabledSubscription|SubscriptionNotFound|DisabledSubscription`,
		"the subscription is disabled or does not exist",
		"enable the subscription, or correct spec.subscriptionID of the AzureCluster"),
	row("PolicyDenied", `RequestDisallowedByPolicy`, "an Azure policy forbids the resource",
		"satisfy the policy that the message names, or get an exemption"),
	row("ResourceLocked", `ScopeLocked`, "a lock on the resource or its group forbids the change",
		"az lock list --resource-group GROUP; remove the lock that the message names"),
	row("SubnetFull", `SubnetIsFull|does not have enough capacity for \d+ IP`, "the subnet has no free address",
		"use a larger subnet or another one"),
	row("BastionSubnetTooSmall", `BastionHostSubnetSizeTooSmall`,
		"Azure makes no bastion in a subnet smaller than /26",
		"give AzureBastionSubnet a /26 or larger: spec.bastionSpec.azureBastion.subnet.cidrBlocks of the AzureCluster"),
	row("AddressOverlap", `overlaps with|NetcfgInvalidSubnet|NetcfgSubnetRangesOverlap|VnetAddressSpacesOverlap`,
		"address ranges overlap, or a subnet is outside of its network",
		"choose ranges that are apart in spec.networkSpec of the AzureCluster"),
	row("NameTaken", `DnsRecordInUse|StorageAccountAlreadyTaken|VaultAlreadyExists|already taken`,
		"a name that has to be unique in Azure is taken", "choose another name in the spec that the message names"),
	row("ProviderNotRegistered", `MissingSubscriptionRegistration`,
		"the subscription is not registered for the resource provider",
		"az provider register --namespace NAMESPACE, with the one that the message names"),
	row("Throttled",
		`TooManyRequests|OperationNotAllowed.*rate|RESPONSE 429|status code 429|SubscriptionRequestsThrottled`,
		"Azure throttles the subscription", "wait; see casement calls for who calls most"),
	row("VMDeleted", `was deleted in Azure`, "the virtual machine was deleted in Azure, not through Kubernetes",
		"delete the Machine, so that its set makes another"),
	row("SpotEvicted", `\bspot\b.*evict|evict.*\bspot\b`, "the spot VM was evicted", "raise spotVMOptions.maxPrice or use regular VMs"),
	row("UserDataCompressed", `^InvalidBootstrapData: .*(gzip|compressed)`,
		"the bootstrap data is compressed, which cloudbase-init cannot read",
		"leave spec.gzip off; do not compress bootstrap data of Windows machines"),
	row("PasswordTooLong", `^InvalidBootstrapData: .*20 characters`,
		"a user's password is longer than Windows accepts", "shorten it, or leave it out"),
	row("WrongCRISocket", `^InvalidBootstrapData: .*(criSocket|socket)`,
		"kubeadm would talk to a CRI socket that is not there",
		"set nodeRegistration.criSocket: npipe:////./pipe/containerd-containerd in the Windows KubeadmConfigTemplate"),
	row("BootstrapSecretUnread", `casement-bootstrap: cannot`,
		"the machine could not fetch its bootstrap script from the cluster's key vault", "look "+
			"at the role assignment on the secret, at the vault's firewall and at the way to 169.254.169.254; or "+
			"set the annotation bootstrap-secrets to CustomData"),
	row("InvalidBootstrapData", `^InvalidBootstrapData: `,
		"a guest could not use the bootstrap data, so no VM is created with it",
		"correct the KubeadmConfigTemplate where the message says"),
	row("JinjaSyntax", `TemplateSyntaxError|jinja syntax|jinja.*(error|invalid|unexpected)`,
		"the bootstrap data is not a valid Jinja template",
		"escape {{ and {% in files and commands of the KubeadmConfigTemplate"),
	row("InvalidConfiguration", `^InvalidConfiguration: `,
		"the spec asks for what Azure or the cluster cannot be given",
		"change the spec as the message says; a template is immutable, so make another and name it"),
	// The guest's own messages, in the error's details or on the console, explain these.
	follows("ProvisioningTimedOut", `OSProvisioningTimedOut`, "the guest never reported to Azure that it is up", "look "+
		"at the boot log: an image that is not generalized, a guest that restarts again and again, or no way "+
		"to 168.63.129.16"),
	follows("ProvisioningFailed", `OSProvisioning(Client|Internal)Error`,
		"the guest reported to Azure that it could not set itself up",
		"look at the boot log and at the error details: an image that is not generalized, or one that is no node image"),
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
	row("ServerCertificateUnknown", `x509:`,
		"the API server's certificate is not one that the cluster's kubeconfig trusts",
		"look at what answers at the address; a cluster of the same name may be older: casement get kubeconfig CLUSTER"),
	row("KubeconfigRefused", `Unauthorized|the server has asked for the client to provide credentials`,
		"the API server refuses the kubeconfig that Cluster API keeps",
		"delete the secret CLUSTER-kubeconfig, so that Cluster API writes it again"),
	row("NoRouteToAPI", `i/o timeout|no route to host|network is unreachable|connection refused|no such `+
		`host|connectex|request canceled while waiting for connection|context deadline `+
		`exceeded|Client.Timeout|connection reset|EOF`,
		"the API server of the cluster is not reached", "check the control plane machines, the load balancer, "+
			"the NSG's rule for the API port, the route table and DNS"),
}

// deletion are the causes that keep an object from being deleted.
var deletion = []Cause{
	row("EvictionBlocked", `violate the pod's disruption budget`,
		"a PodDisruptionBudget lets no pod go, so the node is not drained",
		"add replicas elsewhere, relax the budget, or set deletion.nodeDrainTimeoutSeconds of the Machine"),
	row("HookWaits", `WaitingForPreDrainHook|WaitingForPreTerminateHook|WaitingForBeforeDeleteHook`,
		"a deletion hook has not been lifted by whoever set it",
		"remove the hook's annotation (…delete.hook.machine.cluster.x-k8s.io/…) when its owner is gone"),
	row("VolumeAttached", `WaitingForVolumeDetach`, "volumes are still attached to the node", "kubectl get "+
		"volumeattachments; restart the CSI driver's controller, or set "+
		"deletion.nodeVolumeDetachTimeoutSeconds of the Machine"),
}
