package kubechange

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limit is the range of values that every kubelet accepts for a field of its configuration, on any system: with another
// value it exits at its start.
type Limit struct {
	// Path is the path of the field, with dots; Flag is the kubelet's flag with the same meaning, or "".
	Path, Flag string
	// Takes describes the accepted values.
	Takes string
	fits  func(string) bool
}

// Fits reports whether a value is accepted. "" means the default.
func (l Limit) Fits(value string) bool { return value == "" || l.fits(value) }

// Limits returns the bounds of single fields.
// Source: kubernetes pkg/kubelet/apis/config/validation/validation.go of 1.31 to 1.37.
func Limits() []Limit {
	return []Limit{
		numbers("containerLogMaxFiles", "container-log-max-files", 2, unbounded),
		numbers("containerLogMaxWorkers", "", 1, unbounded),
		quantity("containerLogMaxSize", "container-log-max-size"),
		durations("containerLogMonitorInterval", "", 3*time.Second, unbounded),
		durations("cpuCFSQuotaPeriod", "cpu-cfs-quota-period", time.Millisecond, time.Second),
		durations("crashLoopBackOff.maxContainerRestartPeriod", "", time.Second, 300*time.Second),
		numbers("eventBurst", "event-burst", 0, unbounded),
		numbers("eventRecordQPS", "event-qps", 0, unbounded),
		oneOf("hairpinMode", "hairpin-mode", "hairpin-veth", "promiscuous-bridge", "none"),
		numbers("healthzPort", "healthz-port", 0, 65535),
		numbers("imageGCHighThresholdPercent", "image-gc-high-threshold", 0, 100),
		numbers("imageGCLowThresholdPercent", "image-gc-low-threshold", 0, 100),
		oneOf("imagePullCredentialsVerificationPolicy", "", "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages",
			"AlwaysVerify"),
		numbers("iptablesDropBit", "", 0, 31),
		numbers("iptablesMasqueradeBit", "", 0, 31),
		numbers("kubeAPIBurst", "kube-api-burst", 0, unbounded),
		numbers("kubeAPIQPS", "kube-api-qps", 0, unbounded),
		numbers("maxOpenFiles", "max-open-files", 0, unbounded),
		numbers("maxParallelImagePulls", "", 1, unbounded),
		numbers("maxPods", "max-pods", 0, unbounded),
		oneOf("memorySwap.swapBehavior", "", "NoSwap", "LimitedSwap"),
		numbers("nodeStatusMaxImages", "node-status-max-images", -1, unbounded),
		numbers("oomScoreAdj", "oom-score-adj", -1000, 1000),
		numbers("podsPerCore", "pods-per-core", 0, unbounded),
		numbers("port", "port", 0, 65535),
		numbers("readOnlyPort", "read-only-port", 0, 65535),
		numbers("registryBurst", "registry-burst", 0, unbounded),
		numbers("registryPullQPS", "registry-qps", 0, unbounded),
		oneOf("runOnce", "runonce", "false"),
		oneOf("topologyManagerPolicy", "topology-manager-policy", "none", "best-effort", "restricted", "single-numa-node"),
		oneOf("topologyManagerScope", "topology-manager-scope", "container", "pod"),
	}
}

// unbounded is the upper bound of a field that has none.
const unbounded = 1 << 62

func numbers(path, flag string, least, most int64) Limit {
	takes := fmt.Sprintf("%d to %d", least, most)
	if most == unbounded {
		takes = fmt.Sprintf("%d or more", least)
	}
	return Limit{path, flag, takes, func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && n >= least && n <= most
	}}
}

func durations(path, flag string, least, most time.Duration) Limit {
	takes := fmt.Sprintf("%s to %s", least, most)
	if most == unbounded {
		takes = fmt.Sprintf("%s or more", least)
	}
	return Limit{path, flag, takes, func(s string) bool {
		d, err := time.ParseDuration(s)
		return err == nil && (d == 0 || d >= least && d <= most) // zero means the default
	}}
}

func oneOf(path, flag string, values ...string) Limit {
	return Limit{path, flag, strings.Join(values, ", "), func(s string) bool { return slices.Contains(values, s) }}
}

// quantities matches a quantity as resource.ParseQuantity accepts it.
var quantities = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$`)

func quantity(path, flag string) Limit {
	return Limit{path, flag, "a quantity such as 10Mi", quantities.MatchString}
}

// Thresholds returns the fields of the KubeletConfiguration whose keys are eviction signals, by flag.
func Thresholds() map[string]string {
	return map[string]string{
		"eviction-hard": "evictionHard", "eviction-soft": "evictionSoft", "eviction-soft-grace-period": "evictionSoftGracePeriod",
		"eviction-minimum-reclaim": "evictionMinimumReclaim",
	}
}

// signals are the eviction signals. Source: kubernetes pkg/kubelet/eviction/api/types.go.
var signals = []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
	"containerfs.available", "containerfs.inodesFree", "allocatableMemory.available", "pid.available"}

// Threshold returns the error in a signal and its value for a field of Thresholds, or "".
// Source: kubernetes pkg/kubelet/eviction/helpers.go, parseThresholdStatement.
func Threshold(field, signal, value string) string {
	percent, relative := strings.CutSuffix(value, "%")
	share, err := strconv.ParseFloat(percent, 64)
	switch {
	case !slices.Contains(signals, signal):
		return signal + " is no signal of eviction: those are " + strings.Join(signals, ", ")
	case value == "":
		return ""
	case field == "evictionSoftGracePeriod":
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return value + " is no duration such as 1m30s"
		}
	case relative && (err != nil || share < 0 || share > 100):
		return value + " is no share from 0% to 100%"
	case !relative && (!quantities.MatchString(value) || strings.HasPrefix(value, "-")):
		return value + " is neither a quantity such as 500Mi nor a share such as 10%"
	}
	return ""
}

// NodeLabel reports whether a kubelet accepts a label for its node: of the labels of kubernetes.io and k8s.io it
// accepts only some. Source: kubernetes staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go,
// cmd/kubelet/app/options/options.go.
func NodeLabel(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	of := func(name string) bool { return domain == name || strings.HasSuffix(domain, "."+name) }
	return !found || !of("kubernetes.io") && !of("k8s.io") || of("kubelet.kubernetes.io") || of("node.kubernetes.io") ||
		slices.Contains([]string{
			"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
			"beta.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
			"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
		}, key)
}

// kubeletFields are the fields of the KubeletConfiguration in 1.37; no minor version from 1.31 on has others. Source:
// k8s.io/kubelet config/v1beta1 types.go.
const kubeletFields = "apiVersion kind address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS " +
	"clusterDNS clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize " +
	"containerLogMaxWorkers containerLogMonitorInterval containerRuntimeEndpoint contentType cpuCFSQuota cpuCFSQuotaPeriod " +
	"cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod crashLoopBackOff defaultPodSysctls " +
	"enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers " +
	"enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable eventBurst " +
	"eventRecordQPS evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim evictionPressureTransitionPeriod " +
	"evictionSoft evictionSoftGracePeriod failCgroupV1 failSwapOn featureGates fileCheckFrequency hairpinMode " +
	"healthzBindAddress healthzPort httpCheckFrequency imageGCHighThresholdPercent imageGCLowThresholdPercent " +
	"imageMaximumGCAge imageMinimumGCAge imagePullCredentialsVerificationPolicy imageServiceEndpoint iptablesDropBit " +
	"iptablesMasqueradeBit kernelMemcgNotification kubeAPIBurst kubeAPIQPS kubeReserved kubeReservedCgroup kubeletCgroups " +
	"localStorageCapacityIsolation logging makeIPTablesUtilChains maxOpenFiles maxParallelImagePulls maxPods " +
	"memoryManagerPolicy memoryReservationPolicy memorySwap memoryThrottlingFactor mergeDefaultEvictionSettings " +
	"nodeLeaseDurationSeconds nodeStatusMaxImages nodeStatusReportFrequency nodeStatusUpdateFrequency oomScoreAdj podCIDR " +
	"podLogsDir podPidsLimit podsPerCore port preloadedImagesVerificationAllowlist protectKernelDefaults providerID " +
	"qosReserved readOnlyPort registerNode registerWithTaints registryBurst registryPullQPS reservedMemory reservedSystemCPUs " +
	"resolvConf rotateCertificates runOnce runtimeRequestTimeout seccompDefault serializeImagePulls serverTLSBootstrap " +
	"showHiddenMetricsForVersion shutdownGracePeriod shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods " +
	"singleProcessOOMKill staticPodPath staticPodURL staticPodURLHeader streamingConnectionIdleTimeout syncFrequency " +
	"systemCgroups systemReserved systemReservedCgroup tlsCertFile tlsCipherSuites tlsCurvePreferences tlsMinVersion " +
	"tlsPrivateKeyFile topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope tracing userNamespaces " +
	"volumePluginDir volumeStatsAggPeriod"

// KubeletField reports whether the KubeletConfiguration has a field; kubelets ignore others.
func KubeletField(name string) bool { return slices.Contains(strings.Fields(kubeletFields), name) }
