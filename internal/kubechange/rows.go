package kubechange

// The files of kubernetes/kubernetes that rows name.
const (
	validation = "pkg/kubelet/apis/config/validation/validation_windows.go"
	manager    = "pkg/kubelet/cm/container_manager_windows.go"
	features37 = "pkg/features/kube_features.go"
)

// linuxOnly is why the kubelet of Windows has no use for a setting of cgroups.
const cgroups = "has no cgroups and does not read it"

// settings are the fields of the KubeletConfiguration that differ on Windows.
var settings = []Setting{
	{Path: "singleProcessOOMKill", Span: Span{32, 0}, Effect: Refused, Why: "does not start with it, whatever its value",
		Source: validation + "; #126096"},
	{Path: "userNamespaces", Span: Span{33, 0}, Effect: Refused, Why: "does not start with it, whatever is in it", Source: validation},
	{Path: "defaultPodSysctls", Span: Span{37, 0}, Effect: Refused, Harmless: []string{""}, Why: "does not start with it",
		Source: validation + "; #140052"},
	{Path: "cgroupsPerQOS", Flag: "cgroups-per-qos", Span: Span{0, 31}, Effect: Refused, Harmless: []string{"false"},
		Why: "does not start with it", Source: validation + "; #123137"},
	{Path: "cgroupsPerQOS", Flag: "cgroups-per-qos", Span: Span{31, 0}, Effect: Ignored, Harmless: []string{"false"}, Usual: true,
		Why: "logs a warning and ignores it", Source: validation + "; #123137"},
	{Path: "enforceNodeAllocatable", Flag: "enforce-node-allocatable", Span: Span{0, 31}, Effect: Refused, Harmless: []string{"", "none"},
		Why: "does not start with it", Source: validation + "; #123137"},
	{Path: "enforceNodeAllocatable", Flag: "enforce-node-allocatable", Span: Span{31, 0}, Effect: Ignored,
		Harmless: []string{"", "none"}, Usual: true, Why: "logs a warning and ignores it", Source: validation + "; #123137"},
	{Path: "memoryManagerPolicy", Flag: "memory-manager-policy", Span: Span{32, 0}, Value: "Static", Effect: Ignored,
		Why:    "ignores the memory manager, and with the gate WindowsCPUAndMemoryAffinity does not start with this policy",
		Source: "pkg/kubelet/cm/memorymanager/memory_manager.go; KEP-4888"},
	{Path: "memoryManagerPolicy", Flag: "memory-manager-policy", Span: Span{0, 32}, Effect: Ignored, Harmless: []string{"", "None"},
		Why: "has no memory manager", Source: manager},
	{Path: "memoryManagerPolicy", Flag: "memory-manager-policy", Span: Span{32, 0}, Value: "BestEffort", Effect: Ignored,
		Unless: "WindowsCPUAndMemoryAffinity", Why: "ignores it without the gate WindowsCPUAndMemoryAffinity", Source: manager + "; KEP-4888"},
	{Path: "reservedMemory", Flag: "reserved-memory", Effect: Ignored, Harmless: []string{""}, Unless: "WindowsCPUAndMemoryAffinity",
		Why: "ignores it without the gate WindowsCPUAndMemoryAffinity", Source: manager + "; KEP-4888"},
	{Path: "cpuManagerPolicy", Flag: "cpu-manager-policy", Effect: Ignored, Harmless: []string{"", "none"},
		Unless: "WindowsCPUAndMemoryAffinity",
		Why:    "pins no processors without the gate WindowsCPUAndMemoryAffinity of 1.32", Source: manager + "; KEP-4888"},
	{Path: "topologyManagerPolicy", Flag: "topology-manager-policy", Effect: Ignored, Harmless: []string{"", "none"},
		Unless: "WindowsCPUAndMemoryAffinity",
		Why:    "has no topology manager without the gate WindowsCPUAndMemoryAffinity of 1.32", Source: manager + "; KEP-4888"},
	{Path: "reservedSystemCPUs", Flag: "reserved-cpus", Effect: Ignored, Harmless: []string{""}, Unless: "WindowsCPUAndMemoryAffinity",
		Why: "keeps no processors free without the gate WindowsCPUAndMemoryAffinity of 1.32", Source: manager + "; KEP-4888"},
	{Path: "shutdownGracePeriod", Span: Span{0, 32}, Effect: Ignored, Harmless: []string{"", "0", "0s"},
		Why: "does not wait for pods at a shutdown", Source: "KEP-4802"},
	{Path: "shutdownGracePeriod", Span: Span{32, 34}, Effect: Ignored, Harmless: []string{"", "0", "0s"},
		Unless: "WindowsGracefulNodeShutdown",
		Why:    "does not wait for pods at a shutdown without the gate WindowsGracefulNodeShutdown", Source: "KEP-4802; #133062"},
	{Path: "resolvConf", Flag: "resolv-conf", Effect: Harmful, Harmless: []string{"", "Host"}, Usual: true,
		Why:    `starts no pod with dnsPolicy Default or host network unless it is "", Host or a file that is there`,
		Source: "pkg/kubelet/network/dns/dns_windows.go; cmd/kubeadm/app/componentconfigs/kubelet_windows.go"},
	{Path: "cgroupDriver", Flag: "cgroup-driver", Effect: Ignored, Harmless: []string{""}, Usual: true, Why: cgroups, Source: manager},
	{Path: "cgroupRoot", Flag: "cgroup-root", Effect: Ignored, Harmless: []string{"", "/"}, Why: cgroups, Source: manager},
	{Path: "kubeletCgroups", Flag: "kubelet-cgroups", Effect: Ignored, Harmless: []string{""}, Why: cgroups, Source: manager},
	{Path: "systemCgroups", Flag: "system-cgroups", Effect: Ignored, Harmless: []string{""}, Why: cgroups, Source: manager},
	{Path: "systemReservedCgroup", Flag: "system-reserved-cgroup", Effect: Ignored, Harmless: []string{""}, Why: cgroups, Source: manager},
	{Path: "kubeReservedCgroup", Flag: "kube-reserved-cgroup", Effect: Ignored, Harmless: []string{""}, Why: cgroups, Source: manager},
	{Path: "qosReserved", Flag: "qos-reserved", Effect: Ignored, Harmless: []string{""}, Why: cgroups, Source: manager},
	{Path: "memoryThrottlingFactor", Effect: Ignored, Why: cgroups, Source: manager + "; KEP-2570"},
	{Path: "podPidsLimit", Flag: "pod-max-pids", Effect: Ignored, Harmless: []string{"-1", "0"}, Why: "limits no processes of a pod",
		Source: manager},
	{Path: "cpuCFSQuota", Flag: "cpu-cfs-quota", Effect: Ignored, Harmless: []string{"true"},
		Why: "has no scheduler with quotas to switch off", Source: "pkg/kubelet/kuberuntime/kuberuntime_container_windows.go"},
	{Path: "cpuCFSQuotaPeriod", Flag: "cpu-cfs-quota-period", Effect: Ignored, Harmless: []string{"", "100ms"},
		Why: "has no scheduler with quotas", Source: "pkg/kubelet/kuberuntime/kuberuntime_container_windows.go"},
	{Path: "seccompDefault", Flag: "seccomp-default", Effect: Ignored, Harmless: []string{"false"}, Why: "has no seccomp",
		Source: "kubernetes.io/docs/concepts/windows/intro"},
	{Path: "allowedUnsafeSysctls", Flag: "allowed-unsafe-sysctls", Effect: Ignored, Harmless: []string{""}, Why: "has no sysctls",
		Source: "pkg/kubelet/sysctl/safe_sysctls.go"},
	{Path: "protectKernelDefaults", Flag: "protect-kernel-defaults", Effect: Ignored, Harmless: []string{"false"},
		Why: "has no kernel parameters to protect", Source: manager},
	{Path: "makeIPTablesUtilChains", Flag: "make-iptables-util-chains", Effect: Ignored, Harmless: []string{"true"},
		Why: "has no iptables", Source: "pkg/kubelet/kubelet_network_others.go"},
	{Path: "oomScoreAdj", Flag: "oom-score-adj", Effect: Ignored, Harmless: []string{"-999"}, Why: "has no scores of processes",
		Source: "kubernetes.io/docs/concepts/configuration/windows-resource-management"},
	{Path: "memorySwap.swapBehavior", Effect: Ignored, Harmless: []string{"", "NoSwap"}, Why: "gives no pod a limit of swap",
		Source: "pkg/kubelet/util/swap/swap_util.go"},
	{Path: "kernelMemcgNotification", Flag: "kernel-memcg-notification", Effect: Ignored, Harmless: []string{"false"}, Why: cgroups,
		Source: "pkg/kubelet/eviction/eviction_manager.go"},
	{Path: "evictionHard.memory.available", Span: Span{0, 31}, Effect: Ignored, Why: "evicts for no lack of memory", Source: "#122922"},
	{Path: "evictionSoft.memory.available", Span: Span{0, 31}, Effect: Ignored, Why: "evicts for no lack of memory", Source: "#122922"},
	{Path: "evictionHard.pid.available", Effect: Ignored, Why: "counts no processes", Source: "pkg/kubelet/eviction/defaults_windows.go"},
	{Path: "evictionHard.nodefs.inodesFree", Effect: Ignored, Why: "has no inodes", Source: "pkg/kubelet/eviction/defaults_windows.go"},
	{Path: "evictionHard.imagefs.inodesFree", Effect: Ignored, Why: "has no inodes", Source: "pkg/kubelet/eviction/defaults_windows.go"},
}

// gates are the feature gates of Kubernetes with a meaning for Windows.
var gates = []Gate{
	{Name: "HyperVContainer", Known: Span{0, 21}, What: "Hyper-V isolation by an annotation", Source: "kubernetes issue 95505"},
	{Name: "WindowsGMSA", Known: Span{0, 21}, On: 16, What: "credential specs of pods", Source: features37},
	{Name: "WindowsRunAsUserName", Known: Span{0, 21}, On: 17, What: "runAsUserName", Source: features37},
	{Name: "WindowsEndpointSliceProxying", Known: Span{0, 25}, On: 21, Locked: 22, What: "endpoint slices in kube-proxy", Source: features37},
	{Name: "CSIMigrationAzureFile", Known: Span{0, 30}, On: 24, Locked: 26, What: "Azure Files by CSI", Source: features37},
	{Name: "IdentifyPodOS", Known: Span{23, 27}, On: 24, Locked: 25, What: "spec.os of pods", Source: features37},
	{Name: "WindowsHostProcessContainers", Known: Span{22, 28}, On: 23, Locked: 26, What: "HostProcess containers", Source: features37},
	{Name: "WindowsHostNetwork", Known: Span{26, 0}, Inert: 33, What: "pods in the host's network",
		Source: features37 + "; KEP-3503, #130250"},
	{Name: "WinDSR", Known: Span{14, 0}, On: 33, Locked: 34, What: "direct server return in kube-proxy",
		Source: features37 + "; KEP-5100, #132108"},
	{Name: "WinOverlay", Known: Span{14, 0}, On: 20, Locked: 34, What: "overlay networks in kube-proxy", Source: features37 + "; #133042"},
	{Name: "WindowsGracefulNodeShutdown", Known: Span{32, 0}, On: 34, What: "pods end in order at a shutdown",
		Source: features37 + "; KEP-4802, #133062"},
	{Name: "WindowsCPUAndMemoryAffinity", Known: Span{32, 0}, What: "processors and NUMA nodes for containers, alpha",
		Source: features37 + "; KEP-4888"},
	{Name: "NodeLogQuery", Known: Span{27, 0}, On: 36, Locked: 36, What: "logs of services by the kubelet",
		Source: features37 + "; KEP-2258, #137544"},
	{Name: "EmptyDirVolumeMode", Known: Span{37, 0}, Linux: true, What: "emptyDir.mode, alpha", Source: features37},
	{Name: "VolumeBindMountOptions", Known: Span{37, 0}, Linux: true, What: "bindMountOptions, alpha", Source: features37},
	{Name: "DefaultPodSysctls", Known: Span{37, 0}, Linux: true, What: "sysctls that every pod gets, alpha", Source: features37 + "; #140052"},
	{Name: "UserNamespacesSupport", Known: Span{28, 0}, On: 33, Locked: 36, Linux: true, What: "user namespaces", Source: features37},
}

// configs are the versions of kubeadm's configuration.
var configs = []Config{
	{Version: "v1beta1", Span: Span{13, 22}, Source: "cmd/kubeadm/app/apis/kubeadm"},
	{Version: "v1beta2", Span: Span{15, 27}, Source: "cmd/kubeadm/app/apis/kubeadm"},
	{Version: "v1beta3", Span: Span{22, 37}, Source: "cmd/kubeadm/app/apis/kubeadm; #136016"},
	{Version: "v1beta4", Span: Span{31, 0}, Source: "cmd/kubeadm/app/apis/kubeadm; #125029"},
}

// features are kubeadm's own feature gates, each with the minors that know it, as far as they
// end after 1.27. Source: cmd/kubeadm/app/features/features.go.
var features = map[string]Span{
	"PublicKeysECDSA":                  {0, 37},
	"RootlessControlPlane":             {22, 0},
	"EtcdLearnerMode":                  {27, 33},
	"UpgradeAddonsBeforeControlPlane":  {28, 31},
	"WaitForAllControlPlaneComponents": {30, 35},
	"ControlPlaneKubeletLocalMode":     {31, 36},
	"NodeLocalCRISocket":               {32, 37},
}

// fields are fields of pods that came after WIN307 and have no effect on Windows.
var fields = []Field{
	{37, "volumes[].emptyDir.mode", "the directory gets no mode", "core/v1 types.go of 1.37; pkg/volume/emptydir/empty_dir.go"},
	{37, "containers[].volumeMounts[].bindMountOptions", "noexec, nodev and nosuid are of Linux", "core/v1 types.go of 1.37"},
	{37, "volumes[].configMap.defaultUser", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].secret.defaultUser", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].projected.defaultUser", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].downwardAPI.defaultUser", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].configMap.items[].user", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].secret.items[].user", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].downwardAPI.items[].user", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].projected.sources[].configMap.items[].user", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].projected.sources[].secret.items[].user", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].projected.sources[].downwardAPI.items[].user", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].projected.sources[].serviceAccountToken.user", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].projected.sources[].clusterTrustBundle.user", "files have no owner by a number", "core/v1 types.go of 1.37"},
	{37, "volumes[].projected.sources[].podCertificate.user", "files have no owner by a number", "core/v1 types.go of 1.37"},
}

// defects are faults of kubelet and kube-proxy on Windows: what an attacker can use first, then
// by the newest fix. Releases are those of the notes in CHANGELOG of each minor.
var defects = []Defect{
	{Name: "CVE-2024-9042", CVE: true, Fixed: []Release{{32, 1}, {31, 5}, {30, 9}, {29, 13}}, Scope: Everywhere, Program: "kubelet",
		Why: "a query of a node's logs runs commands", Source: "kubernetes issue 129654"},
	{Name: "CVE-2023-5528", CVE: true, Fixed: []Release{{28, 4}, {27, 8}, {26, 11}, {25, 16}}, Scope: Everywhere, Program: "kubelet",
		Why: "a volume's path runs commands", Source: "kubernetes issue 121879"},
	{Name: "CVE-2023-3676 and CVE-2023-3955", CVE: true, Fixed: []Release{{28, 1}, {27, 5}, {26, 8}, {25, 13}, {24, 17}}, Scope: Everywhere,
		Program: "kubelet", Why: "a pod's subPath runs commands", Source: "kubernetes issues 119339, 119595"},
	{Name: "the panic in winkernel", Fixed: []Release{{37, 1}}, Scope: Everywhere, Program: "kube-proxy",
		Why: "it ends when HNS lists a load balancer without port mappings", Source: "#141681"},
	{Name: "doubled load balancers", Fixed: []Release{{37, 0}}, From: 31, Scope: Everywhere, Program: "kube-proxy",
		Why: "after a restart of HNS it creates load balancers that are there, and fails with 0xb7", Source: "#139503"},
	{Name: "the memory notifier's nil pointer", Fixed: []Release{{37, 0}}, From: 31, Scope: Everywhere, Program: "kubelet",
		Why: "it ends when Windows does not report its memory", Source: "#138727"},
	{Name: "handles that leak with subPaths", Fixed: []Release{{37, 0}}, Scope: SubPaths, Program: "kubelet",
		Why: "the pod stays Terminating, as the volume is in use", Source: "#138367"},
	{Name: "endpoints of an address that another node has now", Fixed: []Release{{37, 0}, {36, 1}}, Scope: Bridge, Program: "kube-proxy",
		Why: "packets go to the wrong node, and DNS times out", Source: "#138000, #138603"},
	{Name: "load balancers shared by two IP families", Fixed: []Release{{36, 0}, {35, 1}, {34, 4}, {33, 8}}, Scope: DualStack,
		Program: "kube-proxy", Why: "Services with two families break", Source: "#136241, #136373, #136375"},
	{Name: "rules that are not checked again", Fixed: []Release{{36, 0}, {35, 1}, {34, 4}}, From: 34, Scope: Everywhere,
		Program: "kube-proxy", Why: "what is lost in HNS stays lost until a Service changes", Source: "#135631, #136122"},
	{Name: "stale remote endpoints", Fixed: []Release{{35, 0}, {34, 2}, {33, 6}, {32, 10}}, From: 31, Scope: Everywhere,
		Program: "kube-proxy", Why: "connections go to pods that are gone", Source: "#135146, #135170, #135171, #135172"},
	{Name: "lost load balancers with local traffic", Fixed: []Release{{35, 0}, {34, 2}, {33, 6}, {32, 10}}, Scope: LocalTraffic,
		Program: "kube-proxy", Why: "a Service with internalTrafficPolicy Local loses its load balancer now and then",
		Source: "#134031, #134032, #134033"},
	{Name: "load balancers that differ from HNS", Fixed: []Release{{34, 0}, {33, 2}, {32, 6}}, From: 31, Scope: Everywhere,
		Program: "kube-proxy", Why: "changes by HNS 15.4's ModifyLoadBalancer do not arrive", Source: "#131506, #131649, #131652"},
	{Name: "remote endpoints of the same address", Fixed: []Release{{34, 0}, {33, 1}, {32, 5}, {31, 9}}, From: 31, Scope: Everywhere,
		Program: "kube-proxy", Why: "a pod whose address was known as remote gets no endpoint", Source: "#131427, #131428, #131429"},
	{Name: "a kubelet that does not start", Fixed: []Release{{32, 0}, {31, 1}}, From: 31, Scope: Everywhere, Program: "kubelet",
		Why: "it does not take its own socket files for sockets", Source: "#126976, #127100"},
	{Name: "runAsUser", Fixed: []Release{{31, 0}}, Scope: RunAsUser, Program: "kubelet", Why: "it starts no pod that has runAsUser",
		Source: "#125040"},
}

// behaviours are changes without a setting.
var behaviours = []Behaviour{
	{31, "eviction by memory", "Windows nodes evict pods when less committed memory is left than evictionHard's memory.available, 500Mi " +
		"by default: the page file counts, so a node may page before it evicts", "#122922; pkg/kubelet/eviction/defaults_windows.go"},
	{31, "kube-proxy changes load balancers in place", "in place of removing and creating them, and keeps endpoints that terminate",
		"#124092"},
	{32, "no resize of pods in place", "a resize is infeasible on Windows", "#128623"},
	{33, "no host network but for HostProcess", "the alpha support went; the gate stays and does nothing", "#130250"},
	{33, "kubeadm needs xcopy", "a preflight check of kubeadm looks for it", "#130045"},
	{34, "no resources of whole pods", "the API server refuses pods with spec.os windows that have them, and so does the kubelet", "#133046"},
	{36, "upgrades wait longer for the test job", "CreateJob of kubeadm upgrade gets a minute, as Windows pulls the pause image",
		"CHANGELOG-1.36"},
	{37, "kubeadm writes kube-proxy's mode", "KubeProxyConfiguration without a mode gets iptables, which kube-proxy on Windows refuses: " +
		"a Windows kube-proxy that shares the ConfigMap has to set kernelspace", "#139777; pkg/proxy/apis/config/validation/validation.go"},
	{37, "no flags of cAdvisor", "the kubelet on Linux loses 18; the one on Windows never had any",
		"#139870; cmd/kubelet/app/options/globalflags_other.go"},
}
