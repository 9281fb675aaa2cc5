package rules

import (
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestPlanted adds settings that a Windows kubelet, kubeadm or container runtime of 1.37 refuses or ignores, one at a
// time, and requires a finding that the same cluster does not have without the setting. They were written from
// Kubernetes' own sources, in addition to the settings of TestRefusedOrIgnored.
func TestPlanted(t *testing.T) {
	shared := func(line string) string { return "---\n" + kubeletConfig(line) }
	file := func(name, content string) string {
		return "files:\n- path: " + name + "\n  content: |\n" + indent(content, 4)
	}
	pod := func(spec string) string { return "---\n" + windowsPod + spec + container }
	inContainer := func(lines string) string { return "---\n" + windowsPod + container + lines }
	join := func(lines string) string {
		return file("c:/k/join.yaml", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"+lines)
	}
	const patch = "c:/etc/kubernetes/patches/kubeletconfiguration0+strategic.yaml"
	for name, c := range map[string]struct{ lines, more string }{
		// Values that a kubelet refuses on any system, and kubeadm ignores:
		// pkg/kubelet/apis/config/validation/validation.go.
		"both grace periods":                    {"", shared("shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 1}]")},
		"a part longer than the whole":          {"", shared("shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s")},
		"a back-off of ten minutes":             {"", shared("crashLoopBackOff: {maxContainerRestartPeriod: 600s}")},
		"enforced without cgroups":              {"", shared("cgroupsPerQOS: false\nenforceNodeAllocatable: [pods]")},
		"events below 0":                        {"", shared("eventRecordQPS: -1")},
		"a reclaim of no signal":                {"", shared("evictionMinimumReclaim: {disk: 1Gi}")},
		"no signal of eviction":                 {"", shared("evictionHard: {memory.free: 100Mi}")},
		"no quantity":                           {"", shared("evictionHard: {memory.available: lots}")},
		"more than all images":                  {"", shared("imageGCHighThresholdPercent: 120")},
		"a threshold below the other's default": {"", shared("imageGCHighThresholdPercent: 70")},
		"thresholds that cross":                 {"", shared("imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 80")},
		"no hairpin mode":                       {"", shared("hairpinMode: bridge")},
		"no policy of credentials":              {"", shared("imagePullCredentialsVerificationPolicy: Sometimes")},
		"a bit of iptables":                     {"", shared("iptablesMasqueradeBit: 10")},
		"join: a control plane":                 {join("controlPlane: {localAPIEndpoint: {bindPort: 6443}}\n"), ""},
		"join: a misspelt timeout":              {join("timeouts: {kubeletHealthChecks: 1m}\n"), ""},
		"more than all images, flag":            {kubelet("image-gc-high-threshold: '101'"), ""},
		"a role as label":                       {kubelet("node-labels: node-role.kubernetes.io/worker=x"), ""},
		"a label of Kubernetes":                 {kubelet("node-labels: kubernetes.io/role=win"), ""},
		"a single log file":                     {"", shared("containerLogMaxFiles: 1")},
		"no size of logs":                       {"", shared("containerLogMaxSize: 10 MB")},
		"pods below 0":                          {"", shared("maxPods: -1")},
		"a misspelt flag":                       {kubelet("node-label: a=b"), ""},
		"images below -1":                       {"", shared("nodeStatusMaxImages: -2")},
		"parallel pulls in series":              {"", shared("serializeImagePulls: true\nmaxParallelImagePulls: 5")},
		"no pulls":                              {"", shared("serializeImagePulls: false\nmaxParallelImagePulls: 0")},
		"no port":                               {"", shared("readOnlyPort: 70000")},
		"once alone":                            {"", shared("runOnce: true")},
		"a soft threshold without a period":     {"", shared("evictionSoft: {memory.available: 1Gi}")},
		"no effect of a taint":                  {"", shared("registerWithTaints: [{key: os, value: windows, effect: NoRun}]")},
		"a misspelt field":                      {"", shared("maxPod: 60")},
		"a misspelt field of a patch":           {file(patch, "maxPod: 60\n"), ""},
		"a flag of another program":             {kubelet("master: https://x"), ""},
		"no topology policy":                    {"", shared("topologyManagerPolicy: best")},
		// pkg/kubelet/cm/container_manager_windows.go creates no cgroups and no CPU sets.
		"cpu manager flag":        {kubelet("cpu-manager-policy: static"), ""},
		"cpu manager options":     {"", shared("cpuManagerPolicyOptions: {full-pcpus-only: 'true'}")},
		"memory manager flag":     {kubelet("memory-manager-policy: Static"), ""},
		"reserved CPUs":           {"", shared("reservedSystemCPUs: 0-1")},
		"reserved CPUs flag":      {kubelet("reserved-cpus: 0-1"), ""},
		"cgroup of the system":    {"", shared("systemReservedCgroup: /system.slice")},
		"cgroup of Kubernetes":    {"", shared("kubeReservedCgroup: /kube.slice")},
		"cgroup of kubelet":       {"", shared("kubeletCgroups: /kubelet.slice")},
		"cgroup of processes":     {kubelet("system-cgroups: /system"), ""},
		"cgroup root":             {kubelet("cgroup-root: /kube"), ""},
		"iptables chains":         {"", shared("makeIPTablesUtilChains: false")},
		"score of the OOM killer": {"", shared("oomScoreAdj: -900")},
		"kernel defaults":         {"", shared("protectKernelDefaults: true")},
		"kernel defaults, flag":   {kubelet("protect-kernel-defaults: 'true'"), ""},
		"CFS quota":               {"", shared("cpuCFSQuota: false")},
		"CFS period":              {"", shared("cpuCFSQuotaPeriod: 50ms")},
		"memory throttling":       {"", shared("memoryThrottlingFactor: 0.8")},
		"memcg notification":      {"", shared("kernelMemcgNotification: true")},
		"soft eviction by PIDs":   {"", shared("evictionSoft: {pid.available: 10%}\nevictionSoftGracePeriod: {pid.available: 1m}")},
		"soft eviction by inodes": {"", shared("evictionSoft: {imagefs.inodesFree: 5%}\nevictionSoftGracePeriod: {imagefs.inodesFree: 1m}")},
		"hard eviction flag":      {kubelet("eviction-hard: nodefs.inodesFree<5%"), ""},
		"topology scope":          {"", shared("topologyManagerScope: pod\ntopologyManagerPolicy: best-effort")},
		"pods' PIDs":              {kubelet("pod-max-pids: '100'"), ""},
		"enforced for the system": {"", shared("enforceNodeAllocatable: [pods, system-reserved]")},
		"QoS reserved":            {"", shared("qosReserved: {memory: 50%}")},
		"a socket of Linux":       {file(patch, "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n"), ""},
		"a removed runtime flag":  {kubelet("container-runtime: remote"), ""},
		"a removed network flag":  {kubelet("network-plugin: cni"), ""},
		"a cloud that is gone":    {kubelet("cloud-provider: azure"), ""},
		"join: args as a map":     {join("nodeRegistration:\n  kubeletExtraArgs:\n    v: '4'\n"), ""},
		"join: a socket of Linux": {join("nodeRegistration:\n  criSocket: unix:///run/containerd/containerd.sock\n"), ""},
		"join: an unknown field":  {join("nodeRegistration:\n  ignorePreflightError: [all]\n"), ""},
		"a user namespace":        {"", pod("  hostUsers: false\n")},
		"AppArmor":                {"", pod("  securityContext: {appArmorProfile: {type: RuntimeDefault}}\n")},
		"supplemental groups":     {"", pod("  securityContext: {supplementalGroupsPolicy: Strict}\n")},
		"an SELinux policy":       {"", pod("  securityContext: {seLinuxChangePolicy: Recursive}\n")},
		"resources of a pod":      {"", pod("  resources: {limits: {memory: 1Gi}}\n")},
		"processes of the node":   {"", pod("  hostPID: true\n")},
		"an unmasked proc":        {"", inContainer("    securityContext: {procMount: Unmasked}\n")},
		"huge pages":              {"", inContainer("    resources: {limits: {hugepages-2Mi: 64Mi, memory: 1Gi}}\n")},
		"a signal":                {"", inContainer("    lifecycle: {stopSignal: SIGUSR1}\n")},
		"a block device": {"",
			inContainer("    volumeDevices: [{name: a, devicePath: /dev/sda}]\n  volumes: [{name: a, persistentVolumeClaim: {claimName: a}}]\n")},
		"recursive read-only": {"",
			inContainer("    volumeMounts: [{name: a, mountPath: 'C:/a', readOnly: true, recursiveReadOnly: Enabled}]\n" +
				"  volumes: [{name: a, emptyDir: {}}]\n")},
		"a mount that goes out": {"",
			inContainer("    volumeMounts: [{name: a, mountPath: 'C:/a', mountPropagation: Bidirectional}]\n" +
				"  volumes: [{name: a, emptyDir: {}}]\n")},
		"a volume in memory": {"",
			inContainer("    volumeMounts: [{name: a, mountPath: 'C:/a'}]\n  volumes: [{name: a, emptyDir: {medium: Memory}}]\n")},
	} {
		t.Run(name, func(t *testing.T) {
			planted := findings(t, c.lines, c.more)
			for line := range strings.Lines(findings(t, plain(c.lines), plain(c.more))) {
				planted = strings.Replace(planted, line, "", 1)
			}
			if planted == "" {
				t.Errorf("nothing is found in\n%s", workers("v1.37.2", c.lines)+c.more)
			}
		})
	}
}

// plain returns a document, or lines of the machines' kubeadm configuration, with a correct setting in place of the added one.
func plain(planted string) string {
	switch {
	case strings.Contains(planted, "kind: Pod"):
		return "---\n" + windowsPod + container
	case strings.Contains(planted, "kind: KubeletConfiguration"):
		return "---\n" + kubeletConfig("maxPods: 60")
	case strings.Contains(planted, "kubeletExtraArgs:") && !strings.Contains(planted, "join.yaml"):
		return kubelet("v: '2'")
	}
	return ""
}

// findings returns the rules with findings in a cluster with Windows machines of 1.37, one per line.
func findings(t *testing.T, lines, more string) string {
	t.Helper()
	if lines == "" {
		lines = "users: []\n"
	}
	set, errs := lint.Parse("planted", []byte(workers("v1.37.2", lines)+more), lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	target, err := lint.Config{KubernetesVersion: "1.37.2"}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range lint.Run(set, All(), target) {
		out = append(out, f.Level+" "+f.Rule+"\n")
	}
	slices.Sort(out)
	return strings.Join(out, "")
}
