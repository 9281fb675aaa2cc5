package cause

// Causes about containers' images that occur in more than one step.
var (
	userUnknown = row("UserUnknown", `runAsUserName|unable to find user|no matching entries in passwd|failed to logon user|`+
		`hcs::System::CreateProcess.*(0x80070525|0x534|account name|user name or password is incorrect)`,
		"the container's user does not exist in its image or, for a HostProcess container, on the node",
		"name a user of the image, such as ContainerUser, in runAsUserName of the container, since the whole pod's is its sandbox's "+
			"too; of a HostProcess container a service account such as NT AUTHORITY\\SYSTEM, or a local group of the node")
	wrongOS = row("WrongOS", `no match for platform|no matching manifest for linux|PodOSNotSupported|image operating system `+
		`"windows" cannot be used|cannot be used on this platform`,
		"the image or pod is for another operating system or processor than the node's",
		"set nodeSelector kubernetes.io/os, and kubernetes.io/arch where nodes differ in it; or use an image that has the node's platform")
	// The messages of Linux's ENOEXEC and of Windows' ERROR_BAD_EXE_FORMAT.
	wrongArchitecture = row("WrongArchitecture", `exec format error|is not a valid Win32 application|0x800700c1\b`,
		"the program is built for another processor than the node's, or is no program",
		"use an image of the node's processor, or set nodeSelector kubernetes.io/arch; a script needs its interpreter in the first line")
	// The client's own message if HTTPS_PROXY names a proxy. Source: net/http, transport.go.
	proxyFails = row("ProxyFails", `proxyconnect tcp|Proxy Authentication Required`,
		"the proxy that the program uses does not answer, or refuses the connection",
		"correct HTTPS_PROXY, or name the address in NO_PROXY: the API server, the ranges of nodes, pods and services, 169.254.169.254 "+
			"and 168.63.129.16 need no proxy")
	// The two messages of crypto/x509 differ in their last words: a time before the certificate's start is a fault of the clock.
	clockWrong = row("ClockWrong", `x509: certificate has expired or is not yet valid: current time \S+ is before`,
		"the clock is behind of who says this: a certificate is not yet valid for it",
		"let the machine synchronise its time with the host before kubeadm runs (Hyper-V time provider, chrony)")
	diskLimit = row("DiskLimit", `maximum number of (data )?disks|exceeds? max volume`, "the VM size takes no more data disks",
		"use a larger VM size, or spread the pods").codes("MaximumDataDisksExceeded MaxDiskLUNExceeded")
	cniInvalid = row("CNIConfigInvalid", `failed to load cni config|error parsing configuration|invalid cni config|incompatible CNI `+
		`versions|unsupported CNI (result )?version`,
		"the CNI's configuration on the node is not valid",
		"correct it where it is written: the ConfigMap of the CNI's DaemonSet; the file is in C:\\etc\\cni\\net.d or /etc/cni/net.d")
	otherBuild = row("HostBuildMismatch",
		`0xc0370101|operating system does not match|does not match the host|no matching manifest for windows`,
		"the image is built for another Windows release than the host",
		"choose the image tag of the node's release, and a nodeSelector on node.kubernetes.io/windows-build")
	diskFull = row("DiskFull", `no space left|not enough space on the disk|resource: ephemeral-storage|DiskPressure|`+
		`exceed\w* .*local ephemeral storage`,
		"the disk is full", "use osDisk.diskSizeGB of 128 or more; prune images")
	// gmsaLog is gmsa without the words that any program may write about its account.
	gmsaLog = row("GMSARefused", `0x8007052e|user name or password is incorrect|account.*password.*expired|0x80070532|trust relationship`,
		"Active Directory refuses the account that the program runs as", "Test-ADServiceAccount on the node; "+
			"check the GMSACredentialSpec, the password's age and the node's way to a domain controller")
	// Windows' ERROR_INVALID_PARAMETER for a document that it does not accept. Source:
	// kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa and hcsshim's error texts.
	specInvalid = row("CredentialSpecInvalid", `(credential ?spec|CreateComputeSystem).*(parameter is incorrect|0x80070057)|`+
		`(parameter is incorrect|0x80070057).*credential ?spec`,
		"the credential spec of the pod is not one that Windows takes",
		"compare it with what New-CredentialSpec writes: CmsPlugins, DomainJoinConfig with all its fields, and the account with both scopes")
	gmsa = row("GMSARefused", `gmsa|credential ?spec|0x8007052e|user name or password is `+
		`incorrect|account.*password.*expired|0x80070532|trust relationship`,
		"Active Directory refuses the pod's group managed service account", "Test-ADServiceAccount on the node; "+
			"check the GMSACredentialSpec, the password's age and the node's way to a domain controller")
	configMissing = row("ConfigMissing", `(configmaps?|secrets?) "[^"]*" (is )?(forbidden.*)?not `+
		`found|references non-existent (config|secret) key|couldn't find key .* in (ConfigMap|Secret)|object `+
		`"[^"]*"/"[^"]*" not registered`,
		"a ConfigMap or Secret that the pod needs is not there", "create it in the pod's namespace, or mark it optional")
	hnsGone = row("HNSNetworkGone", `(HNS failed|hnsCall|hcn\w+|hcnOpen\w+).*(Element not found|network was not found)|0x490\b|0x803b0001`,
		"HNS does not find the network, namespace or endpoint that the CNI names: HNS was started again, or the CNI names another network",
		"restart the CNI's pod on the node, so that it makes the network again; replace the machine if that does not help")
	reserved = row("NameReserved", `failed to reserve (sandbox|container) name`,
		"the runtime is not done with an earlier try of the same sandbox or container, which hangs or takes long",
		"wait; if it lasts: the node is overloaded or HCS hangs: restart containerd on it, or replace the machine")
	usedUp = row("NodeResourcesUsedUp", `Insufficient system resources|0x800705aa|0x800705af`,
		"the node has no memory or kernel objects left for another container",
		"run fewer pods on the node, set memory requests, or choose a larger VM size")
	// STATUS_DLL_INIT_FAILED. Source: learn.microsoft.com/troubleshoot/windows-server/performance/desktop-heap-limitation-out-of-memory.
	noProcess = row("ProcessesUsedUp", `0xc0000142\b`,
		"Windows could not initialise a process on the node: its desktop heap or another resource of processes is used up",
		"restart the node, or replace the machine; run fewer containers and processes on it")
	hnsLeak = row("HNSLeak", `(HNS failed|hns\w*|hcn\w+).*already exists|0x1392\b|endpoint.*already exists|is either invalid or not part of`+
		`|0x803b00(13|14|1e)\b`,
		"HNS refuses new endpoints; crashed pods have left theirs behind",
		"drain the node, remove stale HNS endpoints, restart hns, or replace the machine")
	volumes = []Cause{
		row("StorageClassMissing", `storageclass.* "[^"]*" not found`,
			"the claim names a StorageClass that does not exist",
			"create it, or name one of kubectl get storageclasses"),
		row("ClaimMissing", `persistentvolumeclaim "[^"]*" not found`, "a volume that the pod claims is not there",
			"create the PersistentVolumeClaim, and a StorageClass whose driver runs on the node's operating system"),
		row("ClaimUnbound", `unbound immediate PersistentVolumeClaims`, "a claim of the pod is bound to no volume",
			"see what kubectl describe pvc says in the pod's namespace; a StorageClass whose driver runs is needed"),
	}
)

// schedule are the causes in the scheduler's messages. A message about one kind of node does not explain why no other
// node fits, so only faults of volume claims are causes.
var schedule = append(append([]Cause(nil), volumes...),
	row("VolumeElsewhere", `volume node affinity conflict`,
		"the pod's volume is in a zone or on a node that has no room for the pod",
		"add a node in the volume's zone, or move the volume"),
	row("ResourceClaimMissing", `resourceclaim`, "a device that the pod claims is not there",
		"see which there are: kubectl get resourceclaims,resourceslices -A"),
	row("Unschedulable", `nodes are available|Unschedulable|no nodes available`, "no node fits the pod",
		"compare nodeSelector, tolerations and requests with the nodes"),
)

// pull are the causes in messages of the runtime and the registry about an image. Sources: messages of containerd's
// pull and resolver errors and of the OCI distribution's error codes.
var pull = []Cause{
	proxyFails, clockWrong,
	row("PullThrottled", `toomanyrequests|429 Too Many Requests|status.{0,12} 429|pull rate limit`,
		"the image's registry limits how often images are pulled",
		"pull with an account (imagePullSecrets), or from a registry of your own; Azure Container Registry caches others"),
	row("RegistryCertificate", `x509:|tls: failed to verify|server gave HTTP response to HTTPS client`,
		"the node does not trust the registry's certificate",
		"install the registry's CA on the nodes (containerd's certs.d), or use a registry with a public certificate"),
	row("PullDenied", `401 Unauthorized|403 Forbidden|authorization failed|authentication required|pull access `+
		`denied|insufficient_scope|no basic auth credentials|denied: |\bunauthorized\b`,
		"the registry refuses to give this image for the credentials that the node has",
		"check the image's name; add imagePullSecrets, or give the kubelet's identity the role AcrPull"),
	otherBuild, wrongOS,
	row("InvalidImageName", `InvalidImageName|couldn't parse image|invalid reference format`,
		"the image's name is not valid", "correct spec.containers[].image: REGISTRY/NAME:TAG, in lower case"),
	row("ImageNeverPulled", `ErrImageNeverPull|pull policy of Never`,
		"imagePullPolicy is Never, and the image is not on the node",
		"set imagePullPolicy: IfNotPresent, or put the image on the node"),
	row("RegistryNameUnresolved",
		`no such host|server misbehaving|temporary failure in name resolution|getaddrinfow`,
		"the registry's name does not resolve on the node", "check the image's registry, and the node's DNS"),
	diskFull,
	row("ContainerImageNotFound", `: not found|code = NotFound|manifest \S* ?not found|manifest unknown|MANIFEST_UNKNOWN|NAME_UNKNOWN|`+
		`name unknown|repository \S+ .*does not exist`,
		"the registry has no image of this name and tag",
		"correct the image's name and tag; see which there are: casement lint, or the registry's list of tags"),
	row("RegistryUnreachable", `i/o timeout|connection refused|connectex|deadline exceeded|connection reset|no `+
		`route to host|TLS handshake timeout|unexpected EOF|RegistryUnavailable|50[0234] `,
		"the node does not reach the registry", "check the node's way out: NAT gateway, route table, NSG, proxy of containerd"),
	row("PullCutOff", `code = Canceled|context canceled`, "the pull was cut off before it ended: the image is large, or the registry slow",
		"wait for the next try; use a smaller image or a registry in the region; raise runtimeRequestTimeout of the kubelet"),
	row("LayerCorrupt",
		`failed to extract layer|failed to register layer|unexpected commit digest|hcsshim::ImportLayer|invalid checksum|failed commit on ref`,
		"a layer of the image does not unpack on the node",
		"prune the node's images and pull again; check the disk and antivirus exclusions"),
	follows("ImagePull", `ImagePullBackOff|ErrImagePull|failed to pull|Back-off pulling`,
		"the container's image cannot be pulled", "check the image's name and the pull secret"),
}

// sandbox are the causes in messages of the runtime and the CNI about a pod's sandbox.
var sandbox = []Cause{
	row("HNSStopped", `(HNS failed|hcn\w+).*(RPC server is unavailable|0x6ba\b)`,
		"the node's Host Networking Service does not answer: no pod gets an interface",
		"Start-Service hns on the node and restart its kube-proxy; look at the system event log (7031, 7034)"),
	row("RegistryUnreachable",
		`sandbox image.*(i/o timeout|connection refused|no such host|connectex|deadline exceeded)`,
		"the node does not reach the registry of the sandbox (pause) image",
		"check the node's way out, or set a sandbox image of your own registry in containerd's config.toml"),
	row("RegistryCertificate", `sandbox image.*x509`, "the node does not trust the certificate of the sandbox (pause) image's registry",
		"install the registry's CA on the nodes, or set another sandbox image in containerd's config.toml"),
	row("PullDenied", `sandbox image.*(40[13] |unauthorized|authorization failed|pull access denied)`,
		"the registry refuses the sandbox (pause) image for the credentials that the node has",
		"give the nodes access to the registry, or set another sandbox image in containerd's config.toml"),
	row("PauseImageMissing", `sandbox image.*(no match|not found|manifest|platform|does not match)`,
		"the runtime's sandbox (pause) image does not run on the host's build",
		"set a sandbox image with a manifest for the node's build in containerd's config.toml, restart containerd"),
	proxyFails, cniInvalid,
	row("SubnetEnvMissing", `subnet\.env`, "flannel has not written its subnet.env", "look at the flannel pod of this node; restart it"),
	row("CNIPluginMissing", `failed to find plugin`, "a CNI plugin's program is not on the node",
		"restart the CNI's DaemonSet pod on the node, which installs it"),
	row("CNIUnauthorized", `plugin type=.*(Unauthorized|connection is unauthorized)`,
		"the CNI's token for the API server is no longer valid",
		"restart the CNI's pod on the node, which writes a fresh one"),
	row("AddressesUsedUp",
		`no (more )?(free |available )?(IPs?|addresses)|no IP addresses available in range|ipam.*(exhausted|full)`,
		"the node has no pod address left",
		"use a larger pod range, fewer pods per node, or clean up after dead pods"),
	row("CNIStoreLocked", `timed out locking store`, "the CNI cannot lock its store on the node, which another call holds",
		"delete C:\\k\\azure-vnet.json.lock on the node if no call of the CNI runs, or restart the node"),
	row("LayerNotReady", `PrepareLayer.*(not ready|0x15\b)`, "Windows could not prepare the layers of the container: too many start at once",
		"wait for the next try; start fewer containers at once, and exclude containerd's root from antivirus"),
	reserved, usedUp, hnsGone,
	hnsLeak, specInvalid, userUnknown, gmsa, otherBuild, wrongOS, diskFull,
	row("RuntimeClassMissing", `RuntimeHandler "[^"]*" not (supported|found)|no runtime for`,
		"the node's runtime does not know the pod's RuntimeClass",
		"configure the handler in containerd, or take runtimeClassName out of the pod"),
	row("CNIMissing",
		`cni (plugin|config) not initialized|NetworkPluginNotReady|NetworkNotReady|network is not ready|no networks found in`,
		"no CNI has configured the node",
		"install a CNI for the node's operating system (label cni of the cluster)"),
	row("CNIDown", `plugin type=.*(connection refused|no such file|i/o timeout|cannot find)|stat `+
		`/var/lib/calico/nodename|no such file or `+
		`directory.*calico`, "the CNI's agent does not answer on the node", "look at the CNI's pod on the node"),
}

// volume are the causes in messages of the kubelet, the attach controller and provisioners.
var volume = append(append([]Cause(nil), volumes...),
	configMissing,
	row("VolumeMismatch", `Cannot bind to requested volume`, "the volume that the claim names does not fit the claim",
		"correct storageClassName, size or accessModes of the claim as the message says, or leave volumeName out").only("VolumeMismatch"),
	row("VolumeElsewhere", `Multi-Attach error|already exclusively attached|already used by pod`,
		"the volume is attached to another node",
		"delete the pod there; a Deployment with such a volume needs strategy Recreate"),
	row("CSIDriverMissing",
		`driver name .* not found in the list of registered CSI drivers|CSINode .* does not contain driver`,
		"the volume's CSI driver does not run on the node",
		"install the driver's node plugin for the node's operating system"),
	row("DiskBusy", `AttachDiskWhileBeingDetached|currently being detached|AcquireDiskLeaseFailed`,
		"the disk is still being detached from another machine", "wait; if it lasts: az disk show says which machine has it (managedBy)"),
	row("DiskNotSeen", `findDiskByLun|failed to find disk on lun|could not find disk id for lun`,
		"the node does not see the disk that is attached to it: its VM size has another disk controller (NVMe) than the driver knows, or "+
			"the attach is not done", "update the CSI driver, or use a VM size with a SCSI controller"),
	row("InstanceUnknown", `failed to get azure instance id|instance not found.*node`,
		"Azure has no instance of the node's name or provider ID",
		"compare spec.providerID of the node with its virtual machine; delete a node whose machine is gone"),
	diskLimit,
	row("HostPathMissing", `hostPath type check failed`, "the path of the node that the pod mounts is not there, or is of another kind",
		"correct hostPath.path and its type; type DirectoryOrCreate makes a folder that is missing"),
	row("DiskNotFound", `disk.*(not found|NotFound)|ResourceNotFound`, "the volume's disk does not exist in Azure",
		"restore the disk, or delete the claim and its volume"),
	noProcess,
	row("ShareNotFound", `Windows System Error (53|67)\b|network path was not found|network name cannot be found|mount error\((2|113|115)\)`,
		"the node finds no such server or share: the name does not resolve on the node (names of services do not), port 445 is closed, or "+
			"the share does not exist", "check the server and share that the StorageClass or volume names, from the node"),
	row("ShareConflict", `Windows System Error 1219|Multiple connections to a server`,
		"the node has a connection to the same server as another user, and Windows allows one",
		"use one account for each server, or another name of the server for the second account; Remove-SmbGlobalMapping on the node"),
	row("ShareDenied", `mount error\(13\)|permission denied|logon failure|user name or password is incorrect|Windows System Error `+
		`(5|86|1326|1331)\b|0x80070005|AuthorizationFailure`,
		"the volume refuses the credentials",
		"check the secret that the StorageClass or volume names, and the account's firewall"),
	// Source: azuredisk-csi-driver, IsValidVolumeCapabilities.
	row("AccessModeUnsupported", `Volume capability not supported|is not supported for access mode|access mode: \S+ is not supported`,
		"the driver makes no volume of this access mode: a disk is one machine's",
		"take ReadWriteOnce, or a StorageClass of shares (provisioner file.csi.azure.com)"),
	row("FileSystemUnsupported", `ext4.*windows|wrong fs type|format of disk.*failed`,
		"the volume's file system is none that the node mounts", "use fsType ntfs in a StorageClass for Windows"),
)

// unmade are the causes for claims without a volume, after Azure's own causes.
var unmade = []Cause{
	row("VolumeNotMade", `no persistent volumes available|external provisioner|waiting for a volume to be created`,
		"nothing makes a volume for the claim",
		"install the CSI driver that the StorageClass names; see kubectl describe pvc"),
	row("ProvisioningFailed", `ProvisioningFailed|failed to provision volume`, "the driver cannot make the volume",
		"correct what the message names: the StorageClass's parameters, the driver's rights, or a limit of the subscription"),
	row("MountTimedOut", `timed out waiting for the condition|unmounted volumes|unattached volumes`,
		"a volume of the pod is not attached or mounted",
		"see kubectl get volumeattachments, and kubectl describe pvc in the pod's namespace"),
}

// container are the causes in messages of the kubelet and the runtime about a container, and in its exit.
var container = []Cause{
	configMissing, reserved, usedUp, noProcess, specInvalid, userUnknown, gmsa, otherBuild, wrongOS, wrongArchitecture,
	row("NetworkNotAttached", `operation for attach namespace failed`,
		"the host cannot attach the container to its pod's network: the namespace or its endpoint is gone from HNS",
		"delete the pod, so that its sandbox is made again; if it is so with each pod, restart the CNI's pod on the node"),
	row("RuntimeTimesOut", `failed to create containerd task.*deadline exceeded|operation timeout: context deadline`,
		"the runtime did not create the container in time: the node is overloaded, or its compute service (HCS) hangs",
		"run fewer pods on the node; restart vmcompute and containerd on it, or replace the machine"),
	row("WorkingDirMissing", `CreateProcess.*directory name is invalid|chdir to cwd .*no such file`,
		"the container's working directory is not in its image", "correct workingDir, or make the directory in the image"),
	row("RunAsRoot", `runAsNonRoot and image|container has runAsNonRoot|non-numeric user`,
		"the container must not run as root, and its image does",
		"set securityContext.runAsUser, or build the image with a numeric USER"),
	row("LayerOrMountMissing", `CreateComputeSystem.*The system cannot find the (file|path) specified`,
		"a layer of the image or a path that is mounted is not on the node", "pull the image again (crictl rmi on the node); check "+
			"hostPath volumes"),
	row("CommandMissing", `executable file not found|no such file or directory: unknown|The system cannot find `+
		`the (file|path) specified|0x80070002|0x2\)|exec: ".*": .*not found|permission denied: unknown`,
		"the container's command is not in its image, or may not be run",
		"correct command and args; Windows containers need .exe and a shell of their own"),
	row("HyperVMissing", `0xc0351000|hypervisor is not|virtualization.*not (enabled|supported)`,
		"the node has no hypervisor for an isolated container",
		"use process isolation, or a VM size with nested virtualization"),
	row("OutOfMemory", `OOMKilled|0xc000012d|out of memory|OutOfMemory(Exception|Error)`,
		"the container used more memory than it may", "raise resources.limits.memory, or find the leak"),
	row("MountPathInvalid", `not a directory.*mount|invalid mount|failed to (fulfil mount|generate spec)|subPath`,
		"a volume's mount does not fit the container",
		"correct mountPath and subPath: a directory onto a directory, with a drive letter on Windows"),
	row("DeviceMissing", `failed to inject (CDI )?devices|UnexpectedAdmissionError|Allocate failed`,
		"a device that the container asks for is not on the node", "look at the device plugin of the node"),
	row("NodeFull", `^OutOf(cpu|memory|pods|ephemeral-storage): |Node didn't have enough (resource|capacity)`,
		"the node had no room left for the pod when it arrived", "delete the pod, so that another is scheduled"),
	row("EvictedForResources", `low on resource: memory|MemoryPressure`,
		"the node ran out of memory, on Windows of what may be committed, and evicted the pod",
		"set memory limits on its containers, or choose a larger VM size"),
	row("Preempted", `\bpreempt(ed|ing)\b`, "a pod of higher priority took its place", "add nodes, or raise the pod's priorityClassName"),
	row("DeadlineExceeded", `DeadlineExceeded|active on the node longer than`,
		"the pod ran longer than activeDeadlineSeconds allows",
		"raise activeDeadlineSeconds, or find what is slow"),
	row("NodeLost", `NodeLost|node.*(shutdown|not ready|unreachable)|TaintManagerEviction|Terminated.*shutdown`,
		"the pod's node went away", "look at the node: casement why NODE"),
	diskFull,
}

// log are the causes in the last log lines of containers that end.
var log = []Cause{
	row("HostnameOverride", `hostname-override|failed to retrieve node info`,
		"kube-proxy does not run under its node's name",
		"pass the node's name as NODE_NAME and --hostname-override"),
	row("SourceVIPMissing", `source-?vip`, "kube-proxy has no source VIP for the overlay",
		"delete the cached source VIP files and restart kube-proxy"),
	row("UnknownFlag", `unknown flag: |flag provided but not defined|unknown shorthand flag|unrecognized option`,
		"the program does not know a flag that it is given", "correct args of the container"),
	row("PermissionDenied", `is forbidden: User "system:serviceaccount:`,
		"the pod's service account may not do what the program does",
		"bind a Role with the verb and resource that the message names to the service account"),
	row("HNSNetworkMissing", `Unable to find HNS Network|no HNS network`, "kube-proxy finds no HNS network of the name that it is given",
		"set KUBE_NETWORK of kube-proxy to the name or pattern of the CNI's network, and see that the CNI runs on the node"),
	row("CSIProxyMissing", `pipe\\+csi-proxy`, "csi-proxy, which does the driver's work on the host, does not run on the node",
		"casement addons install csi-proxy --cluster CLUSTER"),
	hnsGone, hnsLeak, wrongArchitecture, proxyFails, clockWrong,
	row("PortTaken", `address already in use|Only one usage of each socket address`,
		"the port that the program listens on is taken",
		"give it another port, or leave hostNetwork and hostPort out"),
	row("DependencyUnresolved",
		`no such host|getaddrinfo|Name or service not known|could not resolve host|name resolution`,
		"a name that the program needs does not resolve", "check the name, its service, and the cluster's DNS"),
	row("DependencyUnreachable",
		`connection refused|connectex|i/o timeout|No connection could be made|ECONNREFUSED|no route to host|connection timed out`,
		"something that the program needs does not answer",
		"look at what listens at the address that the log names"),
	row("CertificateExpired", `certificate has expired|x509:|certificate verify failed`,
		"the program does not accept a certificate", "renew the certificate, or give the program its CA"),
	gmsaLog,
	row("FileMissing",
		`no such file or directory|FileNotFoundException|Could not find file|cannot find the (file|path)`,
		"a file that the program needs is not in the container", "mount it, or build it into the image"),
	row("OutOfMemory", `out of memory|OutOfMemory|heap space|cannot allocate memory`,
		"the program ran out of memory", "raise resources.limits.memory, or find the leak"),
	row("ConfigInvalid",
		`failed to (parse|load).*config|invalid config|could not parse|yaml: |environment variable .*(not `+
			`set|required|missing)|missing required`,
		"the program does not accept its configuration",
		"correct the ConfigMap, Secret or environment that the log names"),
	row("AccessDenied", `permission denied|Access (is|to the path .* is) denied|UnauthorizedAccess`,
		"the program may not read or write what it needs",
		"check the container's user and the volume's permissions"),
}

// probe are the causes in the kubelet's messages about failed probes.
var probe = []Cause{
	row("LivenessProbeFails",
		`Liveness probe failed|failed liveness probe|failed startup probe|Startup probe failed`,
		"the container does not answer its liveness or startup probe, so the kubelet restarts it",
		"check the probe's port and path; give a slow start a startupProbe"),
	row("ReadinessProbeFails", `Readiness probe (failed|errored)`,
		"the container does not answer its readiness probe, so no service sends to it",
		"check the probe's port and path, and the program's log"),
	row("HookFails", `FailedPostStartHook|FailedPreStopHook|PostStartHook failed|hook.*failed`,
		"a lifecycle hook of the container fails", "run the hook's command in the container to see why"),
}
