// Package cause knows by what programs say of themselves why machines, nodes and
// pods do not come up: Azure, the guests' agents, kubeadm, the kubelet, container
// runtimes and CNIs. It is text in, a cause out, and reads nothing. Any package may
// import it.
package cause

import "regexp"

// Cause is a known reason for trouble, recognised by what some program said.
type Cause struct {
	// Name is stable; scripts may compare it.
	Name string `json:"name"`
	// Says is the cause in a sentence; Fix is what to do about it.
	Says string `json:"says"`
	Fix  string `json:"fix"`

	match *regexp.Regexp
}

// Classify returns the first known cause whose mark is in text, which may be a
// condition's message, an event or a console, and the line that matched.
func Classify(text string) (Cause, string, bool) {
	for _, c := range causes {
		if at := c.match.FindStringIndex(text); at != nil {
			return c, Line(text, at[0]), true
		}
	}
	return Cause{}, "", false
}

// All returns the known causes, in the order in which they are tried.
func All() []Cause { return append([]Cause(nil), causes...) }

// Line is the line of text around offset i.
func Line(text string, i int) string {
	start, end := i, i
	for start > 0 && text[start-1] != '\n' {
		start--
	}
	for end < len(text) && text[end] != '\n' {
		end++
	}
	return text[start:end]
}

func known(name, pattern, says, fix string) Cause {
	return Cause{Name: name, Says: says, Fix: fix, match: regexp.MustCompile(`(?i)` + pattern)}
}

// causes are tried in order: those that bring others about come first.
var causes = []Cause{
	// What a runtime says in the words that Azure has for missing images.
	known("WrongOS", `no match for platform|no matching manifest for linux|PodOSNotSupported|exec format error`, "the image or pod is for the other operating system", "set nodeSelector kubernetes.io/os"),
	// What Azure refuses.
	known("QuotaExceeded", `QuotaExceeded|exceeding approved .* quota|PublicIPCountLimitReached`, "the subscription's quota for this VM family or region is used up", "request more quota (az vm list-usage --location REGION), or choose another VM size"),
	known("SKUNotAvailable", `SkuNotAvailable|requested (VM )?size .* not available`, "the VM size is not offered in this region or zone", "choose another size or zone: az vm list-skus --location REGION --size SIZE --all"),
	known("AllocationFailed", `AllocationFailed|OverconstrainedAllocation|ZonalAllocationFailed`, "Azure has no capacity for this size there now", "try again later, or choose another size or zone"),
	known("ImageNotFound", `ImageNotFound|PlatformImageNotFound|GalleryImageNotFound|image .* (was )?not found`, "the VM image does not exist there", "name an image that exists: spec.image of the AzureMachineTemplate, or another Kubernetes version"),
	known("AuthorizationFailed", `AuthorizationFailed|does not have authorization to perform`, "casement's identity lacks rights on the subscription or resource group", "give the identity of the AzureClusterIdentity the role Contributor there"),
	known("CredentialsRefused", `AADSTS\d+|invalid_client|InvalidAuthenticationToken|unauthorized_client`, "Entra ID refuses the credentials", "renew the secret that the AzureClusterIdentity names"),
	known("PolicyDenied", `RequestDisallowedByPolicy`, "an Azure policy forbids the resource", "satisfy the policy that the message names, or get an exemption"),
	known("SubnetFull", `SubnetIsFull|does not have enough capacity for \d+ IP`, "the subnet has no free address", "use a larger subnet or another one"),
	known("AddressOverlap", `overlaps with|NetcfgInvalidSubnet|VnetAddressSpacesOverlap`, "address ranges overlap, or a subnet is outside of its network", "choose ranges that are apart in spec.networkSpec of the AzureCluster"),
	known("Throttled", `TooManyRequests|OperationNotAllowed.*rate|\b429\b`, "Azure throttles the subscription", "wait; see casement calls for who calls most"),
	known("ProvisioningTimedOut", `OSProvisioningTimedOut`, "the guest never reported to Azure that it is up", "look at the boot log: an image that is not generalized, a guest that restarts again and again, or no way to 168.63.129.16"),
	known("VMDeleted", `was deleted in Azure`, "the virtual machine was deleted in Azure, not through Kubernetes", "delete the Machine, so that its set makes another"),
	known("SpotEvicted", `\bspot\b.*evict|evict.*\bspot\b`, "the spot VM was evicted", "raise spotVMOptions.maxPrice or use regular VMs"),
	// What the guest's agent chokes on (cloudbase-init, cloud-init).
	known("BootstrapSecretUnread", `casement-bootstrap: cannot`, "the machine could not fetch its bootstrap script from the cluster's key vault", "look at the role assignment on the secret, at the vault's firewall and at the way to 169.254.169.254; or set the annotation bootstrap-secrets to CustomData"),
	known("UserDataCompressed", `gzip|unsupported user ?data|compressed`, "the bootstrap data is compressed, which cloudbase-init cannot read", "leave spec.gzip off; do not compress bootstrap data of Windows machines"),
	known("MissingJinjaVariable", `CI_MISSING_JINJA_VAR`, "the bootstrap data names metadata that Azure's agent does not have", "use {{ ds.meta_data[\"local_hostname\"] }} on Windows"),
	known("JinjaSyntax", `TemplateSyntaxError|jinja syntax|jinja.*(error|invalid|unexpected)|template.*(syntax|not render)`, "the bootstrap data is not a valid Jinja template", "escape {{ and {% in files and commands of the KubeadmConfigTemplate"),
	known("PasswordTooLong", `password.*(longer than|more than|at most) ?\d*|20 characters`, "a user's password is longer than Windows accepts", "shorten it, or leave it out"),
	// What kubeadm says.
	known("WrongCRISocket", `criSocket|container runtime (is not running|endpoint)|unix:///.*containerd.*(no such|not supported|windows)|npipe.*(no such|cannot find|not found)|failed to create new CRI`, "kubeadm talks to a CRI socket that is not there", "set nodeRegistration.criSocket: npipe:////./pipe/containerd-containerd in the Windows KubeadmConfigTemplate"),
	known("TaintsNotUnique", `taints must be unique|Duplicate value:.*taint`, "a taint is given twice, so the node's registration is refused", "drop the cloud taint of register-with-taints, or cloud-provider: external"),
	known("TokenInvalid", `token is invalid|has expired|could not find a JWS|bootstrap.?token.*(not found|invalid|expired)`, "the bootstrap token is invalid or has expired", "replace the machine; raise the bootstrap token's time to live if VMs take longer to boot"),
	known("CACertHashMismatch", `none of the public keys|pinned|certificate signed by unknown authority`, "the API server's certificate is not the one that the bootstrap data pins", "replace the machine, so that it gets fresh bootstrap data"),
	known("VersionSkew", `version skew|kubelet version.*(higher|older|not supported)`, "the kubelet's version and the control plane's are too far apart", "use an image with a supported Kubernetes version"),
	known("NodeNameTaken", `node with name .* already exists`, "another node has this name", "delete the stale node, or replace the machine"),
	known("NoRouteToAPI", `i/o timeout|no route to host|network is unreachable|connection refused|no such host|connectex|request canceled while waiting for connection`, "the machine cannot reach the API server", "check the load balancer, the NSG's rule for the API port, the route table and DNS"),
	known("KubeletUnhealthy", `kubelet (is not|isn't) (running|healthy)|kubelet-check.*fail`, "the kubelet does not run", "read the kubelet's log: casement logs MACHINE"),
	// What the kubelet, the runtime and the CNI say of a node or pod.
	known("DiskFull", `DiskPressure|no space left|not enough space on the disk|ephemeral-storage`, "the disk is full", "use osDisk.diskSizeGB of 128 or more; prune images"),
	known("HNSLeak", `HNS failed|hcnCreate|hnsCall|0x803b00\w+|endpoint.*already exists`, "HNS refuses new endpoints; crashed pods have left theirs behind", "drain the node, remove stale HNS endpoints, restart hns, or replace the machine"),
	known("PauseImageMissing", `sandbox image`, "the runtime's sandbox (pause) image does not run on the host's build", "set a sandbox image with a manifest for the node's build in containerd's config.toml, restart containerd"),
	known("HostBuildMismatch", `0xc0370101|operating system does not match|does not match the host|no matching manifest for windows`, "the image is built for another Windows release than the host", "choose the image tag of the node's release, and a nodeSelector on node.kubernetes.io/windows-build"),
	known("SubnetEnvMissing", `subnet\.env`, "flannel has not written its subnet.env", "look at the flannel pod of this node; restart it"),
	known("SourceVIPMissing", `source-?vip`, "kube-proxy has no source VIP for the overlay", "delete the cached source VIP files and restart kube-proxy"),
	known("HostnameOverride", `hostname-override|failed to retrieve node info`, "kube-proxy does not run under its node's name", "pass the node's name as NODE_NAME and --hostname-override"),
	known("CNIMissing", `cni (plugin|config) not initialized|NetworkPluginNotReady|NetworkNotReady|no networks found in`, "no CNI has configured the node", "install a CNI for the node's operating system (label cni of the cluster)"),
	known("RuntimeDown", `container runtime is down|PLEG is not healthy|containerd.*(stopped|not running)`, "the container runtime does not run", "start containerd; look into its config.toml"),
	known("KubeletStopped", `Kubelet stopped posting node status|NodeStatusUnknown`, "the kubelet has stopped reporting", "casement logs MACHINE; start the kubelet, or replace the machine"),
	known("ImagePull", `ImagePullBackOff|ErrImagePull|failed to pull`, "the container's image cannot be pulled", "check the image's name and the pull secret"),
	known("ConfigMissing", `(configmap|secret) "[^"]*" not found|references non-existent (config|secret) key|couldn't find key .* in (ConfigMap|Secret)`, "a ConfigMap or Secret that the pod needs is not there", "create it in the pod's namespace, or mark it optional"),
	known("ClaimMissing", `persistentvolumeclaim "[^"]*" not found|unbound immediate PersistentVolumeClaims`, "a volume that the pod claims is not there", "create the PersistentVolumeClaim, and a StorageClass whose driver runs on the node's operating system"),
	known("EvictionBlocked", `violate the pod's disruption budget`, "a PodDisruptionBudget lets no pod go, so the node is not drained", "add replicas elsewhere, relax the budget, or set deletion.nodeDrainTimeoutSeconds of the Machine"),
	known("CrashLoop", `CrashLoopBackOff`, "the container ends again and again", "kubectl logs POD --previous"),
	known("Unschedulable", `nodes are available|Unschedulable`, "no node fits the pod", "compare nodeSelector, tolerations and requests with the nodes"),
}
