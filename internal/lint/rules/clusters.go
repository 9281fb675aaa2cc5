package rules

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/lint"
)

// kubeletFixes are the vulnerabilities of kubelets on Windows, newest first, and the
// first release of each minor without them.
var kubeletFixes = []struct {
	cve   string
	fixed []lint.Release
}{
	{"CVE-2024-9042", []lint.Release{{Minor: 32, Patch: 1}, {Minor: 31, Patch: 5}, {Minor: 30, Patch: 9}, {Minor: 29, Patch: 13}}},
	{"CVE-2023-5528", []lint.Release{{Minor: 28, Patch: 4}, {Minor: 27, Patch: 8}, {Minor: 26, Patch: 11}, {Minor: 25, Patch: 16}}},
	{"CVE-2023-3676 and CVE-2023-3955", subPathFixes},
}

// subPathFixes are the first releases whose kubelet does not run a subPath as a
// command. Source: kubernetes issues 119339 and 119595.
var subPathFixes = []lint.Release{{Minor: 28, Patch: 1}, {Minor: 27, Patch: 5}, {Minor: 26, Patch: 8}, {Minor: 25, Patch: 13}, {Minor: 24, Patch: 17}}

// csiProxyImage is an image of csi-proxy and its version.
var csiProxyImage = regexp.MustCompile(`(?:^|/)csi-proxy:v?(\d+)\.(\d+)\.(\d+)`)

// clusters are the rules about clusters with Windows machines as a whole.
func clusters() []lint.Rule {
	const pods, services = "    pods:\n      cidrBlocks: [", "]\n    services:\n      cidrBlocks: [10.96.0.0/12]\n"
	return []lint.Rule{
		{
			ID: "WIN808", Severity: lint.Error, Title: "No network for Windows nodes", Oracle: lint.Unit,
			Doc: "Nodes stay NotReady until a CNI and a kube-proxy for Windows run on them. ClusterResourceSets and Helm chart proxies install them by the cluster's labels: `windows: enabled` with `cni: calico` or `cni-windows: calico`, or whatever label selects the add-on in your set. Without `csi-proxy: enabled` there are no volumes on Windows, which is a warning. If something else installs them, silence the rule on the Cluster. AKS brings its own. Source: kubernetes-sigs/cluster-api-provider-azure templates/addons.",
			Bad: strings.Replace(cluster(pods+"10.0.0.0/16"+services), "    windows: enabled\n    cni: calico\n", "", 1) + workers("v1.36.3", "users: []\n"), Good: cluster(pods+"10.0.0.0/16"+services) + workers("v1.36.3", "users: []\n"),
			Check: eachCluster(func(p *lint.Pass, o *lint.Object) {
				labels := o.Root.At("metadata", "labels")
				if !networkLabels(labels) && !slices.ContainsFunc(ofKind(p.Set, "ClusterResourceSet", "HelmChartProxy"), func(addon *lint.Object) bool { return windowsNetwork(addon) && selects(addon, o) }) {
					p.Report(o, labels, "it has Windows machines, and no label that installs a CNI and kube-proxy for Windows: the nodes stay NotReady", say("windows: enabled and cni: calico, or the labels that your add-ons select"))
				}
				if !labels.At("csi-proxy").Exists() && !slices.ContainsFunc(p.Set.Kind("DaemonSet"), func(d *lint.Object) bool { return strings.Contains(d.Name, "csi-proxy") }) {
					p.ReportAs(lint.Warning, o, labels, "nothing installs csi-proxy: CSI drivers that need it mount no volume on Windows", say("csi-proxy: enabled"))
				}
			}),
		},
		{
			ID: "WIN824", Severity: lint.Error, Title: "A pod network without IPv4", Oracle: lint.Unit,
			Doc: "Windows has no networking of pods with IPv6 alone. With an overlay network dual-stack does not work either, and kube-proxy falls back to IPv4: a warning. Source: kubernetes.io/docs/concepts/services-networking/dual-stack; KEP-5100.",
			Bad: cluster(pods+"'fd00::/48'"+services) + workers("v1.36.3", "users: []\n"), Good: cluster(pods+"10.0.0.0/16"+services) + workers("v1.36.3", "users: []\n"),
			Check: eachCluster(func(p *lint.Pass, o *lint.Object) {
				v := o.Root.At("spec", "clusterNetwork", "pods", "cidrBlocks")
				four, six := false, false
				for _, block := range v.Strings() {
					if prefix, err := netip.ParsePrefix(block); err == nil {
						four, six = four || prefix.Addr().Is4(), six || prefix.Addr().Is6()
					}
				}
				switch {
				case six && !four:
					p.Report(o, v, "pods on Windows have no IPv6 alone", say("a block of IPv4, or both"))
				case six:
					p.ReportAs(lint.Warning, o, v, "an overlay network on Windows has no dual-stack: kube-proxy falls back to IPv4", say("IPv4 alone, unless the CNI is no overlay"))
				}
			}),
		},
		{
			ID: "WIN826", Severity: lint.Warning, Title: "A release with known holes on Windows", Oracle: lint.Unit,
			Doc: "Kubelets before these releases let a user who may create pods become administrator of a Windows node: 1.28.1, 1.27.5, 1.26.8, 1.25.13, 1.24.17 (CVE-2023-3676, CVE-2023-3955); 1.28.4, 1.27.8, 1.26.11, 1.25.16 (CVE-2023-5528); 1.32.1, 1.31.5, 1.30.9, 1.29.13 (CVE-2024-9042). So does csi-proxy up to 1.1.2 (CVE-2023-3893). Source: kubernetes issues 119339, 119595, 121879, 129654, 119594.",
			Bad: workers("v1.28.0", "users: []\n"), Good: workers("v1.36.3", "users: []\n"),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				v := c.At("image")
				var major, minor, patch int
				parts := csiProxyImage.FindStringSubmatch(v.Str())
				if parts == nil {
					return
				}
				if _, err := fmt.Sscan(strings.Join(parts[1:], " "), &major, &minor, &patch); err == nil && slices.Compare([]int{major, minor, patch}, []int{1, 1, 3}) < 0 {
					p.Report(pod.Object, v, "csi-proxy up to 1.1.2 has CVE-2023-3893", say("1.1.3 or newer"))
				}
			}),
			Check: eachWindows(func(p *lint.Pass, m machines) {
				if !m.version.Exists() {
					return
				}
				for _, fix := range kubeletFixes {
					if m.target(p.Target).Lacks(fix.fixed...) && m.target(lint.Target{}).Minor > 0 {
						p.Report(m.owner, m.version, fmt.Sprintf("kubelet %s on Windows has %s", m.version.Str(), fix.cve), say("a newer release"))
						return
					}
				}
			}),
		},
		{
			ID: "WIN827", Severity: lint.Info, Title: "Too little patience with Windows machines", Oracle: lint.Unit,
			Doc: "A Windows machine boots, joins and pulls its first images slowly. A MachineHealthCheck whose `nodeStartupTimeout` (v1beta2: `checks.nodeStartupTimeoutSeconds`; 10 minutes when unset) is shorter replaces it again and again. The bound is `windowsStartupMinutes` of the configuration, 20 by default. Source: templates/test/ci/prow-windows of kubernetes-sigs/cluster-api-provider-azure, and experience.",
			Bad: workers("v1.36.3", "users: []\n") + "---\n" + healthCheck("10m"), Good: workers("v1.36.3", "users: []\n") + "---\n" + healthCheck("30m"),
			Check: func(p *lint.Pass) {
				for _, o := range ofKind(p.Set, "MachineHealthCheck") {
					v, patience := startup(o)
					for _, m := range groups(p.Set) {
						if patience < p.Target.Startup() && m.windows() && checks(o, m) {
							p.Report(o, v, fmt.Sprintf("%s gets %v to become a node: Windows may need more, and is then replaced again and again", m.owner, patience), say(fmt.Sprintf("nodeStartupTimeout %v or more", p.Target.Startup())))
							break
						}
					}
				}
			},
		},
	}
}

// eachCluster runs check for the Clusters that have machines with Windows in the set.
func eachCluster(check func(p *lint.Pass, o *lint.Object)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		seen := map[*lint.Object]bool{nil: true}
		for _, m := range groups(p.Set) {
			if m.windows() && !m.managed() && !seen[m.cluster] {
				seen[m.cluster] = true
				check(p, m.cluster)
			}
		}
	}
}

// networkLabels are those of the add-ons that everybody has.
func networkLabels(labels lint.Value) bool {
	return labels.At("windows").Str() == "enabled" && (labels.At("cni").Exists() || labels.At("cni-windows").Exists()) || labels.At("cni-windows").Exists() || labels.At("cni").Str() == "calico" || strings.Contains(labels.At("cni").Str(), "windows")
}

// windowsNetwork says whether an add-on brings Windows a network.
func windowsNetwork(addon *lint.Object) bool {
	return strings.Contains(addon.Name, "windows") || strings.Contains(addon.Root.At("spec", "valuesTemplate").Str(), "HNS") ||
		slices.ContainsFunc(addon.Root.At("spec", "resources").Items(), func(r lint.Value) bool { return strings.Contains(r.At("name").Str(), "windows") })
}

// selects says whether an add-on's clusterSelector matches a cluster.
func selects(addon, cluster *lint.Object) bool {
	selector := addon.Root.At("spec", "clusterSelector")
	return addon.Namespace == cluster.Namespace && matches(selector, cluster.Root.At("metadata", "labels"))
}

// matches says whether a label selector matches labels.
func matches(selector, labels lint.Value) bool {
	for _, f := range selector.At("matchLabels").Fields() {
		if labels.At(f.Key).Str() != f.Value.Str() || !labels.At(f.Key).Exists() {
			return false
		}
	}
	for _, e := range selector.At("matchExpressions").Items() {
		v := labels.At(e.At("key").Str())
		in := v.Exists() && slices.Contains(e.At("values").Strings(), v.Str())
		switch e.At("operator").Str() {
		case "In":
			if !in {
				return false
			}
		case "NotIn":
			if in {
				return false
			}
		case "Exists":
			if !v.Exists() {
				return false
			}
		case "DoesNotExist":
			if v.Exists() {
				return false
			}
		}
	}
	return true
}

// startup is how long a MachineHealthCheck lets a machine become a node.
func startup(o *lint.Object) (lint.Value, time.Duration) {
	if v := o.Root.At("spec", "checks", "nodeStartupTimeoutSeconds"); v.Exists() {
		n, _ := v.Int()
		return v, unbounded(time.Duration(n) * time.Second)
	}
	v := o.Root.At("spec", "nodeStartupTimeout")
	if d, err := time.ParseDuration(v.Str()); err == nil {
		return v, unbounded(d)
	}
	return v, 10 * time.Minute // Cluster API's default
}

// unbounded is a long time for zero, which switches the check off.
func unbounded(d time.Duration) time.Duration {
	if d == 0 {
		return 1 << 62
	}
	return d
}

// checks says whether a MachineHealthCheck is about machines.
func checks(o *lint.Object, m machines) bool {
	if name := o.Root.At("spec", "clusterName").Str(); m.owner.Namespace != o.Namespace || m.owner.Root.At("spec", "clusterName").Str() != name {
		return false
	}
	labels := m.owner.Root.At("spec", "template", "metadata", "labels")
	for _, f := range o.Root.At("spec", "selector", "matchLabels").Fields() {
		got := labels.At(f.Key).Str()
		switch f.Key { // Cluster API sets these itself
		case "cluster.x-k8s.io/deployment-name", "cluster.x-k8s.io/set-name", "cluster.x-k8s.io/pool-name":
			got = m.owner.Name
		case "cluster.x-k8s.io/cluster-name":
			got = m.owner.Root.At("spec", "clusterName").Str()
		}
		if got != f.Value.Str() {
			return false
		}
	}
	return true
}

func healthCheck(timeout string) string {
	return "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata:\n  name: win\nspec:\n  clusterName: demo\n  nodeStartupTimeout: " + timeout + "\n  selector:\n    matchLabels:\n      cluster.x-k8s.io/deployment-name: win\n"
}
