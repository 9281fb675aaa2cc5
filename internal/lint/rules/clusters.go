package rules

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/lint"
)

// csiProxyImage matches an image of csi-proxy and its version.
var csiProxyImage = regexp.MustCompile(`(?:^|/)csi-proxy:v?(\d+)\.(\d+)\.(\d+)`)

// podCIDR and serviceCIDR are the YAML before and after the pod range of a Cluster.
const podCIDR, serviceCIDR = "    pods:\n      cidrBlocks: [", "]\n    services:\n      cidrBlocks: [10.96.0.0/12]\n"

// eachCluster runs check for the Clusters that have Windows machines in the set.
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

// networkLabels reports whether labels are those with which common network addons select clusters with Windows nodes.
func networkLabels(labels lint.Value) bool {
	return labels.At("windows").Str() == "enabled" && (labels.At("cni").Exists() || labels.At("cni-windows").Exists()) ||
		labels.At("cni-windows").Exists() || labels.At("cni").Str() == "calico" || strings.Contains(labels.At("cni").Str(), "windows")
}

// windowsNetwork reports whether an addon installs a network for Windows.
func windowsNetwork(addon *lint.Object) bool {
	return strings.Contains(addon.Name, "windows") || strings.Contains(addon.Root.At("spec", "valuesTemplate").Str(), "HNS") ||
		slices.ContainsFunc(addon.Root.At("spec", "resources").Items(),
			func(r lint.Value) bool { return strings.Contains(r.At("name").Str(), "windows") })
}

// selects reports whether an addon's clusterSelector matches a cluster.
func selects(addon, cluster *lint.Object) bool {
	selector := addon.Root.At("spec", "clusterSelector")
	return addon.Namespace == cluster.Namespace && matches(selector, cluster.Root.At("metadata", "labels"))
}

// matches reports whether a label selector matches labels.
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

// startup returns the time that a MachineHealthCheck gives a machine to become a node.
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

// unbounded returns a very long time for zero, because zero disables the check.
func unbounded(d time.Duration) time.Duration {
	if d == 0 {
		return 1 << 62
	}
	return d
}

// checks reports whether a MachineHealthCheck selects machines.
func checks(o *lint.Object, m machines) bool {
	if name := o.Root.At("spec", "clusterName").Str(); m.owner.Namespace != o.Namespace || m.owner.Root.At("spec",
		"clusterName").Str() != name {
		return false
	}
	labels := m.owner.Root.At("spec", "template", "metadata", "labels")
	for _, f := range o.Root.At("spec", "selector", "matchLabels").Fields() {
		got := labels.At(f.Key).Str()
		switch f.Key { // Cluster API sets these labels itself
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
	return "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata:\n  name: win\nspec:\n" +
		"  clusterName: demo\n  nodeStartupTimeout: " + timeout +
		"\n  selector:\n    matchLabels:\n      cluster.x-k8s.io/deployment-name: win\n"
}
