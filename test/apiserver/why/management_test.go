package why

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	helmv1 "casement.dev/casement/internal/helm/v1alpha1"
)

// refused makes the worker's AzureMachine report an error of Azure while it has no VM.
func refused(reason, message string) func(*scene) {
	return func(s *scene) {
		s.vm.Spec.ProviderID = nil
		s.worker.Status.NodeRef.Name = ""
		s.gone = append(s.gone, s.node)
		s.vm.SetConditions([]metav1.Condition{
			is(clusterv1.ReadyCondition, metav1.ConditionFalse, reason,
				"VMRunning: "+message), is(infrav1.VMRunningCondition, metav1.ConditionFalse, reason, message)})
	}
}

// network makes the AzureCluster report an error of Azure.
func network(condition, reason, message string) func(*scene) {
	return func(s *scene) {
		s.azure.SetConditions([]metav1.Condition{is(condition, metav1.ConditionFalse, reason, message)})
	}
}

// boots leaves the worker without a node, with lines at the end of its boot log.
func boots(lines ...string) func(*scene) {
	return func(s *scene) {
		s.worker.Status.NodeRef.Name = ""
		s.gone = append(s.gone, s.node)
		s.console = "[preflight] Running pre-flight checks\n" + strings.Join(lines, "\n") + "\n"
	}
}

// uncreated makes the MachineSet report that it cannot create its second machine.
func uncreated(reason, message string) func(*scene) {
	return func(s *scene) {
		s.deployment.Spec.Replicas, s.set.Spec.Replicas = new(int32(2)), new(int32(2))
		s.set.Status.Deprecated =
			&clusterv1.MachineSetDeprecatedStatus{V1Beta1: &clusterv1.MachineSetV1Beta1DeprecatedStatus{Conditions: clusterv1.Conditions{{
				Type: clusterv1.MachinesCreatedV1Beta1Condition, Status: corev1.ConditionFalse,
				Severity: clusterv1.ConditionSeverityError, Reason: reason, Message: message,
				LastTransitionTime: past()}}}}
	}
}

// unready makes the worker's node report a condition.
func unready(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) func(*scene) {
	return func(s *scene) {
		c := corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: past()}
		if kind == corev1.NodeReady {
			s.node.Status.Conditions = nil
		}
		s.node.Status.Conditions = append(s.node.Status.Conditions, c)
	}
}

// leaves deletes the worker, which reports why it is not deleted yet.
func leaves(reason, message string) func(*scene) {
	return func(s *scene) {
		s.worker.DeletionTimestamp, s.worker.Finalizers = new(metav1.Now()), []string{"machine.cluster.x-k8s.io"}
		s.worker.Status.Conditions = []metav1.Condition{is(clusterv1.MachineDeletingCondition, metav1.ConditionTrue, reason, message)}
		s.asked = "machine/md-0"
	}
}

// kcpSays makes the control plane report a condition.
func kcpSays(kind, reason, message string) func(*scene) {
	return func(s *scene) {
		s.controlPlane.Status.Conditions = []metav1.Condition{is(kind, metav1.ConditionFalse, reason, message)}
	}
}

// unregistered returns a change of a cluster whose infrastructure reference names no existing
// object.
func unregistered(change func(*scene)) func(*scene) {
	return func(s *scene) {
		change(s)
		s.cluster.Status.Conditions = []metav1.Condition{is(clusterv1.ClusterAvailableCondition,
			metav1.ConditionUnknown, "AvailableUnknown", "* ControlPlaneAvailable: ...")}
	}
}

func management() []failure {
	const quota = "Operation could not be completed as it results in exceeding approved Total Regional Cores " +
		"quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current Limit: " +
		"10, Current Usage: 10, Additional Required: 2"
	return []failure{
		{"controlPlaneRef with a typo", "KubeadmControlPlaneMissing", "Cluster/demo", "demo-contrl-plane",
			unregistered(func(s *scene) { s.cluster.Spec.ControlPlaneRef.Name = "demo-contrl-plane" })},
		{"infrastructureRef with a typo", "AzureClusterMissing", "Cluster/demo", "dmeo",
			unregistered(func(s *scene) { s.cluster.Spec.InfrastructureRef.Name = "dmeo" })},
		{"ClusterClass with a typo", "ClusterClassMissing", "Cluster/demo", "windws", unregistered(func(s *scene) {
			s.cluster.Spec.Topology.ClassRef.Name, s.cluster.Spec.Topology.Version = "windws", "v1.36.3"
		})},
		{"identity missing", "AzureClusterIdentityMissing", "AzureCluster/demo", "missing-identity", func(s *scene) {
			s.azure.Spec.IdentityRef = &corev1.ObjectReference{Kind: "AzureClusterIdentity", Name: "missing-identity"}
		}},
		{"template of the MachineDeployment missing", "TemplateMissing", "MachineDeployment/md", "md-v2", func(s *scene) {
			s.deployment.Spec.Template.Spec.InfrastructureRef.Name = "md-v2"
		}},
		{"bootstrap template missing", "TemplateMissing", "MachineDeployment/md", "md-boot", func(s *scene) {
			s.deployment.Spec.Template.Spec.Bootstrap.ConfigRef.Name = "md-boot"
		}},
		{"kind of a template that is not served", "TemplateMissing", "MachineDeployment/md", "no kind", func(s *scene) {
			s.deployment.Spec.Template.Spec.InfrastructureRef = ref("infrastructure.cluster.x-k8s.io", "AWSMachineTemplate", "md")
		}},
		{"template of the control plane missing", "TemplateMissing", "KubeadmControlPlane/demo", "cp-v2", func(s *scene) {
			s.controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "cp-v2"
		}},
		{"template missing, as the MachineSet says", "TemplateMissing", "MachineSet/md-x",
			"AzureMachineTemplate does not exist", func(s *scene) {
				s.set.Spec.Replicas = new(int32(2))
				s.set.Status.Conditions = []metav1.Condition{is(clusterv1.MachineSetScalingUpCondition,
					metav1.ConditionTrue, "ScalingUp",
					"Scaling up from 1 to 2 replicas is blocked because:\n* AzureMachineTemplate does not exist")}
			}},
		{"webhook on machines denies", "WebhookDenied", "MachineSet/md-x", "policy.example.com", uncreated("MachineCreationFailed",
			`admission webhook "policy.example.com" denied the request: machines need a cost center`)},
		{"webhook on machines fails", "WebhookUnavailable", "MachineSet/md-x", "no endpoints",
			uncreated("MachineCreationFailed", `Internal `+
				`error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post `+
				`"https://policy.policy.svc:443/validate?timeout=10s": no endpoints available for service `+
				`"policy"`)},
		{"quota on machines", "ResourceQuotaExceeded", "MachineSet/md-x", "exceeded quota: machines",
			uncreated("MachineCreationFailed", `machines.`+
				`cluster.x-k8s.io "md-x-abcde" is forbidden: exceeded quota: machines, requested: count/machines.`+
				`cluster.x-k8s.io=1, used: count/machines.cluster.x-k8s.io=2, limited: count/machines.cluster.x-`+
				`k8s.io=2`)},
		{"webhook on AzureMachines denies", "WebhookDenied", "MachineSet/md-x", "spec.osDisk",
			uncreated("InfrastructureTemplateCloningFailed", `failed `+
				`to create AzureMachine: admission webhook `+
				`"validation.azuremachine.infrastructure.cluster.x-k8s.io" denied the request: `+
				`spec.osDisk.diskSizeGB: Invalid value: 1`)},
		{"webhook on control plane machines", "WebhookDenied", "KubeadmControlPlane/demo", "cost center", func(s *scene) {
			s.controlPlane.Spec.Replicas = new(int32(3))
			s.events = []event{{s.controlPlane, "FailedScaleUp", `Failed to create additional control plane ` +
				`Machine for cluster why/demo: admission webhook "policy.example.com" denied the request: ` +
				`machines need a cost center`}}
		}},
		{"webhook on MachineSets", "WebhookUnavailable", "MachineDeployment/md", "context deadline exceeded", func(s *scene) {
			s.deployment.Status.Replicas = new(int32(0))
			s.events = []event{{s.deployment, "FailedCreate", `Failed to create MachineSet why/md-y: Internal ` +
				`error occurred: failed calling webhook "x.example.com": failed to call webhook: Post ` +
				`"https://x.y.svc:443/": context deadline exceeded`}}
		}},
		{"topology does not reconcile", "WebhookDenied", "Cluster/demo", "denied", func(s *scene) {
			s.more = append(s.more, &clusterv1.ClusterClass{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "windows"}, Spec: class()})
			s.cluster.Spec.Topology.ClassRef.Name, s.cluster.Spec.Topology.Version = "windows", "v1.36.3"
			s.cluster.Status.Conditions = append(s.cluster.Status.Conditions, is(clusterv1.ClusterTopologyReconciledCondition,
				metav1.ConditionFalse, clusterv1.ClusterTopologyReconciledFailedReason,
				`error reconciling the Cluster topology: failed to create MachineDeployment: admission webhook `+
					`"validation.machinedeployment.cluster.x-k8s.io" denied the request: spec.replicas`))
		}},
		{"too many are unhealthy", "RemediationBlocked", "MachineHealthCheck/md", "not allowed", func(s *scene) {
			h := &clusterv1.MachineHealthCheck{ObjectMeta: meta("md", nil)}
			h.Spec.ClusterName, h.Spec.Selector.MatchLabels = "demo", map[string]string{"set": "md"}
			h.Status.Conditions = []metav1.Condition{is(clusterv1.MachineHealthCheckRemediationAllowedCondition,
				metav1.ConditionFalse, clusterv1.MachineHealthCheckTooManyUnhealthyReason,
				"Remediation is not allowed, the number of not started or unhealthy machines exceeds "+
					"maxUnhealthy (total: 3, unhealthy: 3, maxUnhealthy: 40%)")}
			s.more = append(s.more, h)
		}},
		{"not available, without a reason", "NotAvailable", "Cluster/demo", "RemoteConnectionProbe", func(s *scene) {
			s.cluster.Status.Conditions = []metav1.Condition{is(clusterv1.ClusterAvailableCondition,
				metav1.ConditionFalse, "NotAvailable", "* RemoteConnectionProbe: Remote connection probe failed")}
		}},
		{"Available is Unknown", "AvailableUnknown", "Cluster/demo", "MachineDeployment", func(s *scene) {
			s.cluster.Status.Conditions = []metav1.Condition{is(clusterv1.ClusterAvailableCondition,
				metav1.ConditionUnknown, "AvailableUnknown",
				"* WorkersAvailable:\n  * MachineDeployment md: Condition Available not yet reported")}
		}},
		{"cluster paused", "Paused", "Cluster/demo", "", func(s *scene) { s.cluster.Spec.Paused = new(true) }},
		{"etcd not healthy", "NotHealthy", "KubeadmControlPlane/demo", "etcd member",
			kcpSays(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
				"NotHealthy", "* Machine cp-0:\n  * EtcdMemberHealthy: etcd member reports alarm NOSPACE")},
		{"quota used up", "QuotaExceeded", "AzureMachine/md-0", "Current Limit: 10", refused("QuotaExceeded", quota)},
		{"size not offered", "SKUNotAvailable", "AzureMachine/md-0", "westeurope", refused("SkuNotAvailable", "The "+
			"requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: "+
			"Standard_D2s_v3' is currently not available in location 'westeurope'.")},
		{"no capacity", "AllocationFailed", "AzureMachine/md-0", "sufficient capacity", refused("ZonalAllocationFailed",
			"Allocation failed. We do not have sufficient capacity for the requested VM size in this zone.")},
		{"VM image missing", "ImageNotFound", "AzureMachine/md-0", "GalleryImage", refused("GalleryImageNotFound",
			"The gallery image /CommunityGalleries/x/images/y/versions/1.36.99 is not available in westeurope region. GalleryImage")},
		{"marketplace terms", "MarketplaceTermsMissing", "AzureMachine/md-0", "legal terms",
			refused("MarketplacePurchaseEligibilityFailed", "Marketplace "+
				"purchase eligibility check returned errors. User failed validation to purchase resources: You "+
				"have not accepted the legal terms on this subscription")},
		{"policy", "PolicyDenied", "AzureMachine/md-0", "allowed sizes",
			refused("RequestDisallowedByPolicy", "Resource 'md-0' was disallowed by policy. Policy: allowed sizes")},
		{"subnet full", "SubnetFull", "AzureMachine/md-0", "10.1.0.0/29",
			refused("SubnetIsFull", "Subnet node-subnet with address prefix 10.1.0.0/29 is already full.")},
		{"throttled by Azure", "Throttled", "AzureMachine/md-0", "throttled", refused("TooManyRequests",
			"The request is being throttled as the limit has been reached for operation type - PutVM")},
		{"configuration that Azure takes not", "InvalidConfiguration", "AzureMachine/md-0",
			"spec.networkInterfaces",
			refused("InvalidConfiguration", "spec.networkInterfaces[0].subnetName: the cluster has no subnet nodes")},
		{"lock on the group", "ResourceLocked", "AzureMachine/md-0", "CanNotDelete", refused("ScopeLocked", "The "+
			"scope cannot perform write operation because following scope(s) are locked: "+
			"'/subscriptions/s/resourceGroups/demo'. CanNotDelete")},
		{"VM stopped by somebody", "VMStopped", "AzureMachine/md-0", "deallocated", func(s *scene) {
			s.vm.SetConditions([]metav1.Condition{
				is(clusterv1.ReadyCondition, metav1.ConditionFalse, "VMStopped", "x"),
				is(infrav1.VMRunningCondition, metav1.ConditionFalse, "VMStopped", "virtual machine md-0 is deallocated in Azure"),
			})
		}},
		{"VM deleted by somebody", "VMDeleted", "AzureMachine/md-0", "not through Kubernetes", refused("Deleted",
			"virtual machine md-0 was deleted in Azure, not through Kubernetes; delete the Machine to get a new one")},
		{"spot VM evicted", "SpotEvicted", "AzureMachine/md-0", "evicts", refused("VMStopped",
			"virtual machine md-0 is deallocated in Azure, as spot machines are when Azure evicts them")},
		{"credentials expired", "CredentialsRefused", "AzureCluster/demo", "7000222", network("ResourceGroupReady",
			"Failed", "AADSTS7000222: The provided client secret keys for app 'x' are expired.")},
		{"rights missing", "AuthorizationFailed", "AzureCluster/demo", "virtualNetworks/write", network("VNetReady",
			"AuthorizationFailed",
			"The client 'x' with object id 'y' does not have authorization to perform action 'Microsoft.Network/virtualNetworks/write'")},
		{"ranges overlap", "AddressOverlap", "AzureCluster/demo", "Subnet 'node'",
			network("SubnetsReady", "NetcfgInvalidSubnet", "Subnet 'node' is not valid in virtual network 'vnet'.")},
		{"too many public addresses", "AddressQuotaExceeded", "AzureCluster/demo", "PublicIPCount", network("PublicIPsReady",
			"PublicIPCountLimitReached",
			"Cannot create more than 10 public IP addresses for this subscription in this region. PublicIPCountLimitReached")},
		{"DNS name taken", "NameTaken", "AzureCluster/demo", "DnsRecordInUse", network("PublicIPsReady",
			"DnsRecordInUse",
			"DNS record demo.westeurope.cloudapp.azure.com is already used by another public IP. DnsRecordInUse")},
		{"provider not registered", "ProviderNotRegistered", "AzureCluster/demo", "Microsoft.Network", network("VNetReady",
			"MissingSubscriptionRegistration",
			"The subscription is not registered to use namespace 'Microsoft.Network'.")},
		{"bootstrap data compressed", "UserDataCompressed", "AzureMachine/md-0", "gzip",
			refused("InvalidBootstrapData", "the data is compressed with gzip, which cloudbase-init cannot read")},
		{"password too long", "PasswordTooLong", "AzureMachine/md-0", "users[0]", refused("InvalidBootstrapData",
			"users[0].passwd: longer than the 20 characters that cloudbase-init takes")},
		{"secret of a bootstrap file missing", "FileSecretMissing", "KubeadmConfig/md-0", "gzip-cert", func(s *scene) {
			s.worker.Spec.Bootstrap.DataSecretName = nil
			s.config.Status.Conditions = []metav1.Condition{is(bootstrapv1.KubeadmConfigDataSecretAvailableCondition,
				metav1.ConditionFalse, "NotAvailable",
				`failed to resolve file source: secret references non-existent: secrets "gzip-cert" not found`)}
		}},
		{"azure.json not written", "AzureJSONMissing", "KubeadmConfig/md-0", "workers-azure-json", func(s *scene) {
			s.worker.Spec.Bootstrap.DataSecretName = nil
			s.config.Status.Conditions = []metav1.Condition{is(bootstrapv1.KubeadmConfigDataSecretAvailableCondition,
				metav1.ConditionFalse, "NotAvailable", "Failed to prepare spec.files: failed to resolve file source: "+
					`secret not found: default/workers-azure-json: secrets "workers-azure-json" not found`)}
		}},
		{"bootstrap token", "TokenInvalid", "guest of Machine/md-0", "JWS",
			boots(`could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"`)},
		{"unknown flag of the API server", "UnknownFlag", "guest of Machine/md-0", "--audit-polcy-file", boots("kube-"+
			"apiserver: Error: unknown flag: --audit-polcy-"+
			"file", "[kubelet-check] kubelet isn't running", "dial tcp 10.0.0.4:6443: connect: connection refused")},
		{"file of a flag missing", "ManifestMissing", "guest of Machine/md-0", "admission.yaml",
			boots(`kube-apiserver: open /etc/kubernetes/admission.yaml: no such file or directory`, "connection refused")},
		{"forbidden node label", "LabelForbidden", "guest of Machine/md-0", "node-role",
			boots(`nodes "md-0" is forbidden: is not allowed to modify labels: node-role.kubernetes.io/worker`)},
		{"node name taken", "NodeNameTaken", "guest of Machine/md-0", "md-0",
			boots(`a Node with name "md-0" and status "Ready" already exists in the cluster`)},
		{"no way to the API server", "NoRouteToAPI", "guest of Machine/md-0", "6443", boots(`Get ` +
			`"https://10.0.0.100:6443/api/v1/namespaces/kube-public/configmaps/cluster-info": dial tcp ` +
			`10.0.0.100:6443: i/o timeout`)},
		{"foreign rule before the API server", "NetworkRuleDenies", "guest of Machine/md-0", "corp-deny", func(s *scene) {
			boots(`dial tcp 10.0.0.100:6443: i/o timeout`)(s)
			s.closed = []facts.Obstacle{{Cause: "NetworkRuleDenies",
				Line: "security rule corp-deny of demo-controlplane-nsg (Inbound, priority 100) denies port 6443 from *"}}
		}},
		{"silent boot", "NotRegistered", "Machine/md-0", "", boots("nothing that is known")},
		{"Cluster API does not know the node", "ProviderIDMismatch", "Node/md-0", "virtualMachines/other", func(s *scene) {
			s.worker.Status.NodeRef.Name = ""
			s.node.Spec.ProviderID = "azure:///subscriptions/s/resourceGroups/demo/providers/Microsoft.Compute/virtualMachines/other"
			s.asked = "machine/md-0"
		}},
		{"node deleted", "NodeDeleted", "Node/md-0", "", func(s *scene) { s.gone = append(s.gone, s.node) }},
		{"no CNI", "CNIMissing", "Node/md-0", "NetworkPluginNotReady",
			unready(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", "container "+
				"runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin "+
				"returns error: cni plugin not initialized")},
		{"chart of the CNI not installed", "ChartNotInstalled", "HelmReleaseProxy/calico-demo", "v0.0.1 not found", func(s *scene) {
			unready(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", "container runtime network not "+
				"ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: "+
				"cni plugin not initialized")(s)
			p := &helmv1.HelmReleaseProxy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "calico-demo",
				Labels: map[string]string{clusterv1.ClusterNameLabel: s.cluster.Name}}}
			p.Spec.ClusterRef = corev1.ObjectReference{Kind: "Cluster", Namespace: ns, Name: s.cluster.Name}
			p.Spec.Chart = helmv1.Chart{ChartName: "tigera-operator", RepoURL: "https://docs.tigera.io/calico/charts"}
			p.Status.Conditions = []metav1.Condition{is(helmv1.ReleaseReadyCondition, metav1.ConditionFalse,
				helmv1.InstallOrUpgradeFailedReason, "chart tigera-operator v0.0.1 not found")}
			s.more = append(s.more, p)
		}},
		{"runtime down", "RuntimeDown", "Node/md-0", "PLEG", unready(corev1.NodeReady, corev1.ConditionFalse,
			"KubeletNotReady", "PLEG is not healthy: pleg was last seen active 5m ago; threshold is 3m")},
		{"kubelet stopped", "KubeletStopped", "Node/md-0", "stopped posting", unready(corev1.NodeReady,
			corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")},
		{"disk full", "DiskFull", "Node/md-0", "pressure", unready(corev1.NodeDiskPressure, corev1.ConditionTrue,
			"KubeletHasDiskPressure", "kubelet has disk pressure")},
		{"memory used up", "MemoryPressure", "Node/md-0", "insufficient memory", unready(corev1.NodeMemoryPressure,
			corev1.ConditionTrue, "KubeletHasInsufficientMemory", "kubelet has insufficient memory available")},
		{"cloud provider missing", "CloudProviderMissing", "Node/md-0", "uninitialized", func(s *scene) {
			s.node.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized",
				Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		}},
		{"drain held by a budget", "EvictionBlocked", "Machine/md-0", "web", leaves(clusterv1.MachineDeletingDrainingNodeReason, "Drain "+
			"not completed yet (started at 2026-11-21T14:00:00Z):\n* Pod why/web-1-x: cannot evict pod as it "+
			"would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods and has "+
			"1 currently")},
		{"hook that is not lifted", "HookWaits", "Machine/md-0", "backup",
			leaves(clusterv1.MachineDeletingWaitingForPreDrainHookReason, "Waiting for pre-drain hooks to succeed (hooks: backup)")},
		{"volume still attached", "VolumeAttached", "Machine/md-0", "pvc-1", leaves(clusterv1.MachineDeletingWaitingForVolumeDetachReason,
			"Waiting for Node volumes to be detached (started at 2026-11-21T14:00:00Z): PersistentVolumeClaims: data (pvc-1)")},
		{"finalizer of somebody else", "FinalizerStays", "Machine/md-0", "example.com/inventory", func(s *scene) {
			s.worker.DeletionTimestamp, s.worker.Finalizers = new(metav1.Now()), []string{"example.com/inventory"}
			s.asked = "machine/md-0"
		}},
		{"deletion refused by Azure", "ResourceLocked", "AzureMachine/md-0", "locked", func(s *scene) {
			leaves("WaitingForInfrastructureDeletion", "")(s)
			s.vm.DeletionTimestamp, s.vm.Finalizers = new(metav1.Now()), []string{"azuremachine.infrastructure.cluster.x-k8s.io"}
			s.vm.SetConditions([]metav1.Condition{
				is(infrav1.VMRunningCondition, metav1.ConditionFalse, "ScopeLocked", "The scope is locked."),
			})
		}},
		{"kubeconfig refused", "KubeconfigRefused", "Cluster/demo", "credentials", func(s *scene) {
			s.kubeconfig.Data["value"] = []byte(strings.Replace(string(s.kubeconfig.Data["value"]),
				"    client-certificate-data", "    token: x\n    unused-certificate-data", 1))
		}},
		{"API server gone", "APIRefused", "Cluster/demo", "127.0.0.1:1", func(s *scene) {
			s.kubeconfig.Data["value"] = []byte(strings.Replace(string(s.kubeconfig.Data["value"]), s.host(), "https://127.0.0.1:1", 1))
		}},
		{"boots for hours", "BootstrapInProgress", "guest of Machine/md-0", "", func(s *scene) {
			boots()(s)
			s.vm.SetConditions([]metav1.Condition{is(clusterv1.ReadyCondition, metav1.ConditionFalse, "BootstrapInProgress", "x"),
				{Type: infrav1.BootstrapSucceededCondition, Status: metav1.ConditionFalse,
					Reason: "BootstrapInProgress", Message: "the guest's bootstrap",
					LastTransitionTime: metav1.NewTime(time.Now().Add(-old))}})
		}},
	}
}

func (s *scene) host() string { return server.Host }

// class returns a ClusterClass that the API server accepts.
func class() clusterv1.ClusterClassSpec {
	var c clusterv1.ClusterClassSpec
	c.Infrastructure.TemplateRef = clusterv1.ClusterClassTemplateReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "AzureClusterTemplate", Name: "x",
	}
	c.ControlPlane.TemplateRef = clusterv1.ClusterClassTemplateReference{
		APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlaneTemplate", Name: "x",
	}
	return c
}
