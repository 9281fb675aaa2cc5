package staticpod

import (
	"slices"
	"strings"

	"casement.dev/casement/internal/kubeflags"
)

// Flags, feature gates and admission plugins that Kubernetes 1.20 or a later release has and the
// embedded release does not have. A test beside casement-kube fails if the embedded release has one
// of them.
const (
	// klog's flags were removed from every component in 1.26 (KEP-2845).
	lostLogFlags = "add-dir-header alsologtostderr log-backtrace-at log-dir log-file log-file-max-size " +
		"logtostderr one-output skip-headers skip-log-headers stderrthreshold"

	lostAPIServerFlags = "address basic-auth-file cloud-config cloud-provider cloud-provider-gce-l7lb-src-cidrs " +
		"cloud-provider-gce-lb-src-cidrs " +
		"deserialization-cache-size enable-swagger-ui etcd-quorum-read experimental-encryption-provider-config " +
		"insecure-bind-address insecure-port " +
		"kubelet-https master-service-namespace port service-account-api-audiences ssh-keyfile ssh-user storage-versions target-ram-mb"

	lostControllerManagerFlags = "address concurrent-service-syncs deleting-pods-burst deleting-pods-qps enable-taint-manager " +
		"experimental-cluster-signing-duration " +
		"horizontal-pod-autoscaler-downscale-delay horizontal-pod-autoscaler-upscale-delay horizontal-pod-autoscaler-use-rest-clients " +
		"pod-eviction-timeout port register-retry-count volume-host-allow-local-loopback volume-host-cidr-denylist"

	lostSchedulerFlags = "address algorithm-provider failure-domains hard-pod-affinity-symmetric-weight " +
		"lock-object-name lock-object-namespace " +
		"policy-config-file policy-configmap policy-configmap-namespace port scheduler-name use-legacy-policy-config"

	// etcd 3.6 removed its second API and the proxy, 3.7 removed the flags that begin with
	// experimental-.
	lostEtcdFlags = "debug enable-v2 experimental-apply-warning-duration experimental-backend-bbolt-freelist-type " +
		"experimental-bootstrap-defrag-threshold-megabytes experimental-compact-hash-check-enabled " +
		"experimental-compact-hash-check-time experimental-compaction-batch-limit experimental-compaction-sleep-interval " +
		"experimental-corrupt-check-time experimental-distributed-tracing-instance-id " +
		"experimental-distributed-tracing-sampling-rate experimental-distributed-tracing-service-name " +
		"experimental-downgrade-check-time experimental-enable-lease-checkpoint " +
		"experimental-enable-lease-checkpoint-persist experimental-enable-v2v3 experimental-initial-corrupt-check " +
		"experimental-memory-mlock experimental-peer-skip-client-san-verification experimental-snapshot-catchup-entries " +
		"experimental-stop-grpc-service-on-defrag experimental-txn-mode-write-with-shared-buffer " +
		"experimental-warning-apply-duration experimental-warning-unary-request-duration " +
		"experimental-watch-progress-notify-interval log-output log-package-levels proxy proxy-failure-wait"

	lostAdmissionPlugins = "DenyEscalatingExec DenyExecOnPrivileged Initializers PersistentVolumeLabel " +
		"PodSecurityPolicy SecurityContextDeny"

	// lostFeatureGates are feature gates that have graduated or were removed.
	lostFeatureGates = `
		APIListChunking APIPriorityAndFairness APISelfSubjectReview APIServerTracing AdmissionWebhookMatchConditions AdvancedAuditing
		AggregatedDiscoveryEndpoint AllowInsecureBackendProxy AllowServiceLBStatusOnNonLB AnonymousAuthConfigurableEndpoints
		AnyVolumeDataSource AppArmor AppArmorFields AttachVolumeLimit AuthorizeNodeWithSelectors AuthorizeWithSelectors
		BalanceAttachedNodeVolumes BlockVolume BoundServiceAccountTokenVolume BtreeWatchCache CRIContainerLogRotation CSIBlockVolume
		CSIDriverRegistry CSIInlineVolume CSIMigration CSIMigrationAWS CSIMigrationAWSComplete CSIMigrationAzureDisk
		CSIMigrationAzureDiskComplete CSIMigrationAzureFile CSIMigrationAzureFileComplete CSIMigrationGCE CSIMigrationGCEComplete
		CSIMigrationOpenStack CSIMigrationOpenStackComplete CSIMigrationPortworx CSIMigrationRBD CSIMigrationvSphere
		CSIMigrationvSphereComplete CSINodeExpandSecret CSINodeInfo CSIPersistentVolume CSIServiceAccountToken CSIStorageCapacity
		CSIVolumeFSGroupPolicy CSRDuration CloudDualStackNodeIPs ConfigurableFSGroupPolicy ConsistentHTTPGetHandlers
		ConsistentListFromCache ControllerManagerLeaderMigration CronJobControllerV2 CronJobTimeZone CronJobsScheduledAnnotation
		CustomResourceValidationExpressions DRAControlPlaneController DaemonSetUpdateSurge DefaultHostNetworkHostPortsInPodTemplates
		DefaultPodTopologySpread DelegateFSGroupToCSIDriver DevicePluginCDIDevices DevicePlugins DisableAcceleratorUsageMetrics
		DisableCloudProviders DisableKubeletCloudCredentialProviders DownwardAPIHugePages DryRun DynamicAuditing DynamicKubeletConfig
		EfficientWatchResumption ElasticIndexedJob EndpointSlice EndpointSliceNodeName EndpointSliceProxying
		EndpointSliceTerminatingCondition EphemeralContainers EvenPodsSpread ExpandCSIVolumes ExpandInUsePersistentVolumes
		ExpandPersistentVolumes ExpandedDNSConfig ExperimentalHostUserNamespaceDefaulting ExternalPolicyForExternalIP GRPCContainerProbe
		GangScheduling GenericEphemeralVolume HPAContainerMetrics HonorPVReclaimPolicy HugePageStorageMediumSize HyperVContainer
		IPTablesOwnershipCleanup IPv6DualStack IdentifyPodOS ImmutableEphemeralVolumes InPlacePodVerticalScalingAllocatedStatus
		InTreePluginAWSUnregister InTreePluginAzureDiskUnregister InTreePluginAzureFileUnregister InTreePluginGCEUnregister
		InTreePluginOpenStackUnregister InTreePluginPortworxUnregister InTreePluginRBDUnregister InTreePluginvSphereUnregister IndexedJob
		IngressClassNamespacedParams JobBackoffLimitPerIndex JobMutableNodeSchedulingDirectives JobPodFailurePolicy
		JobPodReplacementPolicy JobReadyPods JobSuccessPolicy JobTrackingWithFinalizers KMSv2 KMSv2KDF KubeProxyDrainingTerminatingNodes
		KubeletCredentialProviders KubeletPodResources KubeletPodResourcesGetAllocatable LegacyNodeRoleBehavior
		LegacyServiceAccountTokenCleanUp LegacyServiceAccountTokenNoAutoGeneration LegacyServiceAccountTokenTracking
		LegacySidecarContainers LoadBalancerIPMode LocalStorageCapacityIsolation LogarithmicScaleDown MinDomainsInPodTopologySpread
		MinimizeIPTablesRestore MixedProtocolLBService MultiCIDRRangeAllocator NamespaceDefaultLabelName NetworkPolicyEndPort
		NetworkPolicyStatus NewVolumeManagerReconstruction NodeDisruptionExclusion NodeLease NodeOutOfServiceVolumeDetach
		NonPreemptingPriority OpenAPIV3 OrderedNamespaceDeletion PDBUnhealthyPodEvictionPolicy PersistentVolumeLastPhaseTransitionTime
		PodAffinityNamespaceSelector PodDisruptionBudget PodDisruptionConditions PodHasNetworkCondition PodHostIPs PodIndexLabel
		PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodOverhead PodPriority PodSecurity PreferNominatedNode
		PreventStaticPodAPIReferences ProbeHostPodSecurityStandards ProbeTerminationGracePeriod ProxyTerminatingEndpoints ReadWriteOncePod
		RelaxedDNSSearchValidation RemainingItemCount RemoveSelfLink ResilientWatchCacheInitialization RetroactiveDefaultStorageClass
		RetryGenerateName RootCAConfigMap RotateKubeletClientCertificate RunAsGroup RuntimeClass SCTPSupport SchedulerQueueingHints
		SeccompDefault SecurityContextDeny SelectorIndex ServerSideApply ServerSideFieldValidation ServiceAccountIssuerDiscovery
		ServiceAppProtocol ServiceIPStaticSubrange ServiceInternalTrafficPolicy ServiceLBNodePortControl ServiceLoadBalancerClass
		ServiceLoadBalancerFinalizer ServiceNodeExclusion ServiceNodePortStaticSubrange ServiceTopology ServiceTrafficDistribution
		SetHostnameAsFQDN SidecarContainers SizeMemoryBackedVolumes SkipReadOnlyValidationGCE StableLoadBalancerNodeSet StartupProbe
		StatefulSetAutoDeletePVC StatefulSetMinReadySeconds StatefulSetStartOrdinal StorageObjectInUseProtection
		StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf StreamingProxyRedirects StrictCostEnforcementForVAP
		StrictCostEnforcementForWebhooks StructuredAuthenticationConfiguration StructuredAuthorizationConfiguration SupportIPVSProxyMode
		SupportNodePidsLimit SupportPodPidsLimit SuspendJob Sysctls TTLAfterFinished TokenRequest TokenRequestProjection
		TopologyAwareHints TopologyManager UserNamespacesPodSecurityStandards UserNamespacesStatelessPodsSupport ValidateProxyRedirects
		ValidatingAdmissionPolicy VolumeCapacityPriority VolumePVCDataSource VolumeSnapshotDataSource VolumeSubpath WarningHeaders
		WatchBookmark WatchFromStorageWithoutResourceVersion WindowsEndpointSliceProxying WindowsGMSA WindowsHostProcessContainers
		WindowsRunAsUserName WorkloadAwarePreemption ZeroLimitedNominalConcurrencyShares`
)

// LostFlags returns the flags of a program that the embedded Kubernetes does not have any more.
func LostFlags(program string) []string {
	switch program {
	case etcd:
		return strings.Fields(lostEtcdFlags)
	case apiServer:
		return strings.Fields(lostAPIServerFlags + " " + lostLogFlags)
	case controllerManager:
		return strings.Fields(lostControllerManagerFlags + " " + lostLogFlags)
	case scheduler:
		return strings.Fields(lostSchedulerFlags + " " + lostLogFlags)
	}
	return nil
}

// LostFeatureGates returns the feature gates that the embedded Kubernetes does not have any more.
func LostFeatureGates() []string { return strings.Fields(lostFeatureGates) }

// LostAdmissionPlugins returns the admission plugins that the embedded API server does not have any
// more.
func LostAdmissionPlugins() []string { return strings.Fields(lostAdmissionPlugins) }

// withoutLost removes from a flag the items that the requested release has but the embedded program
// does not have any more. If nothing is left, the result has no name. An item that the requested
// release does not have either is kept, so that the program fails as in that release. gone is the
// removed text, for a message.
func (t *translation) withoutLost(f flag) (kept flag, gone string) {
	if slices.Contains(LostFlags(t.program), f.name) && !t.lacks(kubeflags.Dropped(t.program, f.name)) {
		return flag{}, f.String()
	}
	switch {
	case t.program == controllerManager && f.name == "cloud-provider" && f.value != "external" && f.value != "" &&
		!t.lacks(noInTreeProviders, true):
		return flag{}, f.String()
	case t.program != etcd && f.name == "feature-gates":
		lacks := func(g string) bool { return t.lacks(kubeflags.DroppedGate(g)) }
		return removeItems(f, slices.DeleteFunc(LostFeatureGates(), lacks), "feature gates")
	case t.program == apiServer && strings.HasSuffix(f.name, "able-admission-plugins"):
		return removeItems(f, LostAdmissionPlugins(), "admission plugins")
	}
	return f, ""
}

// noInTreeProviders is the first minor version whose controller manager supports only the cloud
// provider external. Source: KEP-2395.
const noInTreeProviders = 31

// lacks reports whether the requested release lacks a feature that Kubernetes removed in the minor
// version lost. known is false for removals before 1.23. Releases of etcd are not known here.
func (t *translation) lacks(lost int, known bool) bool {
	asked, ok := minor(t.Version)
	return ok && t.program != etcd && (known && asked >= lost || !known && asked > lastUnknown)
}

// lastUnknown is the last minor version whose removals package kubeflags may not contain.
const lastUnknown = 22

// removeItems removes items from a list such as A=true,B=false.
func removeItems(f flag, lost []string, what string) (kept flag, gone string) {
	var keep, drop []string
	for item := range strings.SplitSeq(f.value, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(item), "=")
		if slices.Contains(lost, name) {
			drop = append(drop, item)
		} else {
			keep = append(keep, item)
		}
	}
	if len(drop) == 0 {
		return f, ""
	}
	gone = what + " " + strings.Join(drop, ",")
	if len(keep) == 0 {
		return flag{}, gone
	}
	f.value = strings.Join(keep, ",")
	return f, gone
}
