package rules

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"casement.dev/casement/internal/lint"
)

const containerdPipe = "npipe:////./pipe/containerd-containerd"

// cloudTaint is the taint that the cloud provider removes when it has initialized a node.
const cloudTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// linuxCommand matches a command line for a Linux shell.
var linuxCommand = regexp.MustCompile(`^\s*(sudo|bash|sh|sed|awk|systemctl|apt|apt-get|yum|dnf|modprobe|sysctl|` +
	`export|chmod|chown|ln|cat|ls|cp|mv|rm|touch|service|/\w+)(\s|/|$)|` +
	`(^|[\s"'=])/(etc|usr|var|opt|tmp|bin)/`)

// bashScript matches a command line with which bash runs a script.
var bashScript = regexp.MustCompile(`^\s*bash(\.exe)?\s+(-c\s+)?["']?[\w./\\:-]+\.sh["']?\s*$`)

// windowsShell matches programs that accept paths with slashes.
var windowsShell = regexp.MustCompile(`(?i)^\s*(powershell|pwsh|cmd)(\.exe)?\s`)

// cryptHash matches a password hash as in /etc/shadow.
var cryptHash = regexp.MustCompile(`^\$(1|2[aby]?|5|6|7|y|gy|sha1)\$`)

// goneFlags are flags that were removed from the kubelet, with the minor that removed them.
var goneFlags = map[string]int{
	"network-plugin": 24, "cni-conf-dir": 24, "cni-bin-dir": 24, "cni-cache-dir": 24, "network-plugin-mtu": 24, "docker-endpoint": 24,
	"image-pull-progress-deadline": 24, "container-runtime": 27, "pod-infra-container-image": 35,
	"allow-privileged": 15,
	// The flags of klog that only log to files (KEP 2845).
	"log-dir": 26, "log-file": 26, "log-file-max-size": 26, "logtostderr": 26, "alsologtostderr": 26, "one-output": 26,
	"stderrthreshold": 26, "log-backtrace-at": 26, "add-dir-header": 26, "skip-headers": 26, "skip-log-headers": 26,
}

// mentions reports whether flags, taints or files of a configuration contain a text.
func mentions(k lint.Value, text string) bool {
	has := func(v lint.Value) bool { return strings.Contains(v.Str(), text) }
	return slices.ContainsFunc(kubeletFlags(k), func(f arg) bool { return strings.Contains(f.value, text) }) ||
		slices.ContainsFunc(k.At("joinConfiguration", "nodeRegistration", "taints").Items(),
			func(v lint.Value) bool { return has(v.At("key")) }) ||
		slices.ContainsFunc(k.At("files").Items(), func(v lint.Value) bool { return has(v.At("content")) })
}

// reserves reports whether flags reserve at least 2Gi of memory for the system.
func reserves(all []arg) bool {
	total := resource.Quantity{}
	for _, name := range []string{"system-reserved", "kube-reserved"} {
		f, _ := named(all, name)
		for part := range strings.SplitSeq(f.value, ",") {
			if amount, ok := strings.CutPrefix(strings.TrimSpace(part), "memory="); ok {
				if q, err := resource.ParseQuantity(amount); err == nil {
					total.Add(q)
				}
			}
		}
	}
	return total.Value() >= 2<<30
}

// gates checks the feature gates of control planes and of Windows machines.
func gates(p *lint.Pass) {
	seen := map[*lint.Object]bool{}
	for _, m := range groups(p.Set) {
		k := m.kubeadm()
		if !k.Exists() || seen[m.config] || m.owner.Kind != "KubeadmControlPlane" && !m.windows() {
			continue
		}
		seen[m.config] = true
		var all []arg
		for _, at := range [][]string{
			{"clusterConfiguration", "apiServer", "extraArgs"}, {"clusterConfiguration", "controllerManager", "extraArgs"},
			{"initConfiguration", "nodeRegistration", "kubeletExtraArgs"}, {"joinConfiguration", "nodeRegistration", "kubeletExtraArgs"},
		} {
			args := flags(k.At(at...))
			f, ok := named(args, "feature-gates")
			if ok {
				all = append(all, f)
			}
			needs := at[1] == "apiServer" && m.owner.Kind == "KubeadmControlPlane" || at[0] == "joinConfiguration" && m.windows()
			if t := m.target(p.Target); t.Minor == 22 && needs && slices.ContainsFunc(p.Set.Pods, (*lint.Pod).HostProcess) &&
				!strings.Contains(f.value, "WindowsHostProcessContainers=true") {
				p.Report(m.config, k.At(at...), "HostProcess containers are off on 1.22 without their gate",
					say("feature-gates: WindowsHostProcessContainers=true"))
			}
		}
		for _, f := range all {
			for part := range strings.SplitSeq(f.value, ",") {
				name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
				if severity, problem := gate(m.target(p.Target), name, value); problem != "" {
					fix := say("take it out of feature-gates")
					if !strings.Contains(f.value, ",") {
						fix = f.drop("take it out")
					}
					p.ReportAs(severity, m.config, f.at, problem, fix)
				}
			}
		}
	}
}

// gate returns the problem with one feature gate.
func gate(t lint.Target, name, value string) (lint.Severity, string) {
	switch {
	case name == "WindowsHostProcessContainers" && t.AtLeast(28):
		return lint.Error, name + " is unknown since 1.28: the component exits at its start"
	case name == "HyperVContainer" && t.AtLeast(21):
		return lint.Error, name + " is unknown since 1.21: the component exits at its start"
	case (name == "WinDSR" || name == "WinOverlay") && strings.EqualFold(value, "false") && t.AtLeast(34):
		return lint.Error, name + " is locked on since 1.34: the component exits at its start"
	case name == "WindowsHostNetwork" && strings.EqualFold(value, "true") && t.AtLeast(33):
		return lint.Warning, name + " does nothing and is deprecated since 1.33"
	}
	return 0, ""
}
