package cause

import "regexp"

// Causes for a machine whose log only shows which part of the bootstrap data failed: a command, or a part that the boot
// agent carries out.
const (
	CommandFailed = "CommandFailed"
	AgentFailed   = "BootAgentFailed"
)

// The programs that write the lines of a boot log. Their messages are recognised only in their own lines, because
// users' commands may print the same words.
var (
	// nodeProgram matches lines of kubeadm, the kubelet and containerd, or about the API server's port.
	nodeProgram = regexp.MustCompile(`(?i)kubeadm|kubelet|cluster-info|containerd|criSocket|^\s*(guest: )?\[[a-z-]+\] |error execution ` +
		`phase|\[ERROR [\w-]+\]: |:6443\b|api ?server|\bnode-labels\b|bootstrap.?token|\bdiscovery\b|\bJWS\b|this cluster|^error: ` +
		`|^[IWEF]\d{4} |run\.go:\d+\]|register node`)
	// agent matches lines of the agent that carries out bootstrap data, and of casement's reports about it.
	agent = regexp.MustCompile(`(?i)cloud-?(base-?)?init|ignition|util\.py\[|plugin|^guest: |user ?data|users?\[\d|BootstrapFailed|` +
		`InvalidBootstrapData|simulated|user '.*' creation|casement-`)
)

// guest are the causes in messages of a machine's boot agent, kubeadm and the kubelet during the boot.
var guest = []Cause{
	// Errors of the agent (cloudbase-init, cloud-init).
	row("BootstrapSecretUnread", `casement-bootstrap: cannot`,
		"the machine could not fetch its bootstrap script from the cluster's key vault", "look "+
			"at the role assignment on the secret, at the vault's firewall and at the way to 169.254.169.254; or "+
			"set the annotation bootstrap-secrets to CustomData"),
	row("UserDataCompressed", `user ?data.*(gzip|compressed)|(gzip|compressed).*user ?data|InvalidBootstrapData.*gzip`,
		"the bootstrap data is compressed, which cloudbase-init cannot read",
		"leave spec.gzip off; do not compress bootstrap data of Windows machines"),
	// Sources: cloudbase-init's userdata plug-in, cloud-init's stages.py, Ignition's config/errors.go.
	row("UserDataUnknown", `unsupported user ?data|unhandled (non-multipart|unknown content-type|user ?data)|no Ignition config|`+
		`not a config \(found|failed to fetch config`,
		"the boot agent does not know the format of the bootstrap data, so it ran nothing of it",
		"set format of the KubeadmConfigTemplate to the image's agent: cloud-config for Ubuntu and Windows, ignition for Flatcar; "+
			"leave spec.gzip off").from(agent),
	row("UserDataMissing", `no user ?data|not a config \(empty\)`, "the machine booted without bootstrap data",
		"replace the machine; one that was made by hand joins no cluster").from(agent),
	row("MissingJinjaVariable", `CI_MISSING_JINJA_VAR`,
		"the bootstrap data names metadata that Azure's agent does not have",
		"use {{ ds.meta_data[\"local_hostname\"] }} on Windows"),
	row("JinjaSyntax",
		`TemplateSyntaxError|jinja syntax|jinja2?\b.*(error|invalid|unexpected)`,
		"the bootstrap data is not a valid Jinja template",
		"escape {{ and {% in files and commands of the KubeadmConfigTemplate").from(agent),
	row("PasswordTooLong", `passw(or)?d.*(longer than|more than|at most) ?\d*|20 characters`,
		"a user's password is longer than Windows accepts", "shorten it, or leave it out").from(agent),
	// Errors of programs about their flags and files.
	row("TaintsNotUnique", `taints must be unique|Duplicate value:.*taint|duplicated taints with the same key`,
		"a taint is given twice, so the node does not register",
		"give each taint once, by key and effect: in nodeRegistration.taints, or in register-with-taints of kubeletExtraArgs"),
	row("FlagInvalid", `invalid argument ".*" for "-`,
		"a program of the node refuses the value of a flag that it is given, and ends",
		"correct the value in extraArgs of the KubeadmControlPlane or KubeadmConfigTemplate, as the line says"),
	row("UnknownFlag", `unknown flag: |flag provided but not defined|unknown shorthand flag|unrecognized feature gate`,
		"a program of the node does not know a flag that it is given, and ends",
		"correct extraArgs in the KubeadmControlPlane or KubeadmConfigTemplate"),
	row("CloudProviderUnknown", `unknown cloud provider|cloud provider \\?"\w+\\?" was specified, but built-in cloud providers are disabled`,
		"the kubelet is given a cloud provider that its version does not have built in, and ends",
		"give the kubelet cloud-provider: external (nodeRegistration.kubeletExtraArgs of the bootstrap config), and run the provider "+
			"in the cluster"),
	row("SettingOfLinux", `invalid configuration: \w+ is not supported on Windows`,
		"the kubelet's configuration, which kubeadm shares among all machines, has a setting that Windows refuses",
		"take the field out of the KubeletConfiguration and the ConfigMap kubelet-config, and give it to the Linux machines by a patch"),
	row("ManifestMissing", `open .*(admission|audit|encryption).*: no such file or directory`,
		"a file that a flag of the API server names is not on the machine",
		"add it to files of the KubeadmControlPlane, and to extraVolumes of the API server"),
	row("NotANodeImage", `'?(kubeadm|kubelet)(\.exe)?'? is not recognized|cannot execute 'kubelet `+
		`--version'|\bkubeadm: (command )?not found|image has no cloudbase-init`,
		"the image lacks a program that a node needs", "give the machine template an image of a node: casement "+
			"images show names the default one, casement images build makes one of your own"),
	// Errors of kubeadm.
	row("RuntimeNotStarted", `unknown service runtime\.v1|container runtime is not running.*(connection refused|code = Unimplemented|`+
		`/containerd\.sock: (connect|no such)|containerd-containerd: The system cannot find)|container runtime is not running: the `+
		`service \S+ does not run`, "the container runtime does not run, or its CRI plugin is off",
		"see what stops it: the commands and files of the bootstrap data, its own log, and its config.toml (disabled_plugins)"),
	row("WrongCRISocket", `criSocket|container runtime (is not running|endpoint)|unix:///.*containerd.*(no `+
		`such|not supported|windows)|npipe.*(no such|cannot find|not found)|failed to create new CRI`,
		"kubeadm talks to a CRI socket that is not there",
		"set nodeRegistration.criSocket: npipe:////./pipe/containerd-containerd in the Windows KubeadmConfigTemplate"),
	row("LabelForbidden", `is not allowed to (?:modify labels|set the following labels)|unknown 'kubernetes.io' or 'k8s.io' labels`,
		"a kubelet may not give itself the label that node-labels asks for",
		"take the label out of node-labels; set it on the Machine, which Cluster API copies"),
	// The sources of the kubelet's and kubeadm's own fatal lines: k8s.io/kubernetes cmd/kubelet/app/server.go,
	// pkg/kubelet/cm/container_manager_linux.go and cmd/kubeadm/app/preflight/checks.go.
	row("CgroupV1Refused", `kubelet is configured to not run on a host using cgroup v1|cgroup v1 (support )?(is|has `+
		`been).*(removed|unsupported)`,
		"the image's Linux uses cgroup v1, which this kubelet does not run on",
		"use an image with cgroup v2, or set failCgroupV1: false in the kubelet's configuration"),
	row("SwapOn", `running with swap on is not supported`, "the kubelet does not run while the machine has swap",
		"turn swap off in the image, or set failSwapOn: false in the kubelet's configuration"),
	row("AlreadyJoined", `kubelet\.conf already exists|FileAvailable-\S*kubelet\.conf`,
		"the image has joined a cluster before: its kubelet's files are still there",
		"make the image again with kubeadm reset, or from a machine that has not joined"),
	row("KubeadmVersion", `this version of kubeadm only supports|kubeadm version.*(unsupported|not supported)|no kind `+
		`"\w+" is registered for version "kubeadm`,
		"the image's kubeadm does not fit the Kubernetes version that the cluster asks for",
		"name an image of the cluster's Kubernetes version in the machine template").from(nodeProgram),
	clockWrong, proxyFails.from(nodeProgram),
	// Source: k8s.io/kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go.
	row("KubeletCertificateExpired", `client certificate in \S+ is expired`,
		"the kubelet's client certificate has expired while the machine was off, or its rotation failed",
		"replace the machine; to keep it, join it again with a new bootstrap token"),
	// Source: k8s.io/kubernetes plugin/pkg/admission/noderestriction.
	row("NodeNameMismatch", `is not allowed to modify node \\?"`,
		"the kubelet registers another name than the one that its certificate is for",
		"let nodeRegistration.name of the KubeadmConfigTemplate be the machine's host name in lower case"),
	row("APINameUnresolved", `lookup \S+.*no such host|no such host`, "the name of the API server does not resolve on the machine",
		"look at the private DNS zone's link to the machine's network, and at the network's DNS servers").from(nodeProgram),
	// Sources: k8s.io/kubernetes cmd/kubeadm/app/discovery/token, app/util/config/cluster.go and app/phases/kubelet/config.go.
	row("ClusterInfoMissing", `configmaps? "cluster-info" (not found|is forbidden)`,
		"the ConfigMap cluster-info of kube-public, which a machine that joins reads first, is missing, or may not be read by everybody",
		"kubeadm init phase bootstrap-token, on a control plane machine, makes it again with its Role").from(nodeProgram),
	row("JoinConfigUnread", `configmaps? "(kubeadm-config|kubelet-config|kube-proxy)[\w.-]*" (not found|is forbidden)`,
		"a ConfigMap of kube-system that kubeadm reads to join is missing, or the Role that lets machines read it is",
		"kubeadm init phase upload-config all --config FILE, on a control plane machine, makes the ConfigMaps again with their Roles").
		from(nodeProgram),
	row("TokenInvalid",
		`token is invalid|token.* has expired|could not find a JWS|bootstrap.?token.*(not found|invalid|expired)`,
		"the bootstrap token is invalid or has expired",
		"replace the machine; raise the bootstrap token's time to live if VMs take longer to boot").from(nodeProgram),
	row("CACertHashMismatch", `none of the public keys|pinned|certificate signed by unknown authority`,
		"the API server's certificate is not the one that the bootstrap data pins",
		"replace the machine, so that it gets fresh bootstrap data").from(nodeProgram),
	row("VersionSkew", `version skew|kubelet version.*(higher|older|not supported)`,
		"the kubelet's version and the control plane's are too far apart",
		"use an image with a supported Kubernetes version"),
	row("NodeNameTaken", `node with name .* already exists`, "another node has this name", "delete the stale node, or replace the machine"),
	row("DiskFull", `no space left|not enough space on the disk`, "the disk is full", "use osDisk.diskSizeGB of 128 or more; prune images"),
	row("ControlPlaneImageMissing", `failed to pull image|ImagePull`,
		"kubeadm cannot pull an image of the control plane",
		"check the way to the registry, imageRepository and the Kubernetes version").from(nodeProgram),
	follows("KubeletUnhealthy", `kubelet (is not|isn't) (running|healthy)|kubelet-check.*fail|localhost:10248`,
		"the kubelet does not run", "read the kubelet's log: casement logs MACHINE"),
	follows("APIRefused", `connection refused|actively refused`,
		"the address of the API server refuses the connection: it is reached, and nothing serves there",
		"look at the control plane machines and the load balancer's pool: casement why CLUSTER").from(nodeProgram),
	follows("NoRouteToAPI", `couldn't validate the identity of the API Server|`+
		`i/o timeout|no route to host|network is unreachable|connectex|request canceled while waiting for connection`,
		"the machine cannot reach the API server", "check the load balancer, the NSG's rule for the API port, the route "+
			"table and DNS").from(nodeProgram),
	// Source: k8s.io/apimachinery pkg/util/validation/field, which formats kubeadm's errors in its configuration.
	row("KubeadmConfigInvalid", `^(error: )?[\w\[\]]+(\.[\w\[\]]+)+: `+
		`(Invalid value|Required value|Unsupported value|Forbidden|Duplicate value)\b`,
		"kubeadm refuses its configuration, so the machine joins nothing",
		"correct the field that the line names: clusterConfiguration, initConfiguration or joinConfiguration of the bootstrap config"),
	// Lines of kubeadm and of the node's programs whose cause has no row. Sources: kubeadm's preflight.RunChecks, and
	// k8s.io/component-base/cli/run.go.
	follows("TLSBootstrapFails", `error execution phase kubelet-(start|wait)\S*: .*(kubelet\.conf|timed out|deadline exceeded|certificate)`,
		"the kubelet has not got its client certificate in time: it does not run, or its request is not approved or signed",
		"read the kubelet's log (casement logs MACHINE kubelet), and look at the requests: kubectl get csr"),
	row("KubeadmPhaseFailed", `error execution phase kubelet-start\S*: .*(patch|unable to|could not|cannot|failed to)`,
		"kubeadm fails before it starts the kubelet, as the line says",
		"correct in joinConfiguration, initConfiguration or files of the bootstrap config what the line names"),
	row("PreflightFailed", `\[ERROR [\w-]+\]: `, "a check that kubeadm makes first fails", "correct on the image, or in the "+
		"bootstrap data, what the line names"),
	row("KubeletEnds", `"command failed" err=|"Failed to run kubelet" err=|^kubelet: kubelet: `,
		"the kubelet, or another program of the node, ends with the error of the line",
		"correct its flags, its configuration or the file that the line names"),
	follows(AgentFailed, agentFailed.String(),
		"the boot agent could not carry out a part of the bootstrap data", "correct files, users or commands of the KubeadmConfigTemplate"),
	follows(CommandFailed, `module scripts-user|line \d+ failed with code -?\d+|the script failed with code -?\d+|`+scriptFailed.String()+`|`+
		unitFailed.String(),
		"a command of the bootstrap data failed",
		"correct it in preKubeadmCommands, postKubeadmCommands or files of the KubeadmConfigTemplate"),
}

// node are the causes in the node conditions that the kubelet and the node controller set.
var node = []Cause{
	row("DiskFull", `DiskPressure|no space left|not enough space on the disk`, "the disk is full",
		"use osDisk.diskSizeGB of 128 or more; prune images"),
	row("MemoryPressure", `MemoryPressure`, "the node's memory is used up", "set memory requests and limits, or choose a larger VM size"),
	row("PIDPressure", `PIDPressure`, "the node's processes are used up", "find what starts them; set podPidsLimit of the kubelet"),
	row("NetworkUnavailable", `NetworkUnavailable`, "no route for the node's pods is made",
		"look at the cloud controller manager and the CNI"),
	cniInvalid,
	row("CNIMissing",
		`cni (plugin|config) not initialized|NetworkPluginNotReady|NetworkNotReady|no networks found in`,
		"no CNI has configured the node",
		"install a CNI for the node's operating system (label cni of the cluster)"),
	row("RuntimeDown", `container runtime is down|PLEG is not healthy|containerd.*(stopped|not running)`,
		"the container runtime does not run", "start containerd; look into its config.toml"),
	row("KubeletStopped", `Kubelet stopped posting node status|NodeStatusUnknown|never posted node status`,
		"the kubelet has stopped reporting", "see its log (casement logs MACHINE); start the kubelet, or replace the machine"),
	row("CSIDriverMissing", `CSINode is not yet initialized|CSI plugin`,
		"the node's CSI registration is not there yet", "look at the CSI driver's pod on the node"),
}
