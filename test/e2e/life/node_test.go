package life

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// group returns the kind and name of the object that owns the Windows machines, and the label
// selector of the machines.
func (l *life) group() (kind, name, selector string) {
	kind, name, owner := "machinedeployment", "demo-md-win", "deployment-name"
	if l.pools {
		kind, name, owner = "machinepool", "demo-mp-win", "pool-name"
	}
	if l.class { // the ClusterClass generates the name
		name = l.management("get", kind, "-l",
			"topology.cluster.x-k8s.io/"+owner+"="+strings.TrimPrefix(name, "demo-"), "-o",
			"jsonpath={.items[*].metadata.name}")
	}
	return kind, name, "cluster.x-k8s.io/" + owner + "=" + name
}

// node contains the fields of a Node that the test reads.
type node struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec   struct{ ProviderID string }
	Status struct {
		NodeInfo   struct{ KubeletVersion, OperatingSystem, KernelVersion string }
		Conditions []struct{ Type, Status string }
	}
}

func (n node) ready() bool {
	return slices.ContainsFunc(n.Status.Conditions,
		func(c struct{ Type, Status string }) bool { return c.Type == "Ready" && c.Status == "True" })
}

// nodes returns the nodes of the workload cluster: all nodes, or only the Windows nodes.
func (l *life) nodes(windows bool) []node {
	l.t.Helper()
	// The API server is unreachable while its machine is replaced.
	out, err := l.p.Try(nil, "kubectl", "--kubeconfig", l.p.Kubeconfig("demo"), "get", "nodes", "-o", "json")
	if err != nil {
		return nil
	}
	var list struct{ Items []node }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		l.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(n node) bool { return windows && n.Status.NodeInfo.OperatingSystem != "windows" })
}

// missing returns how the nodes differ from count nodes for which good returns true, or "".
func (l *life) missing(windows bool, count int, good func(node) bool) string {
	nodes := l.nodes(windows)
	if len(nodes) != count {
		return fmt.Sprintf("%d nodes, not %d", len(nodes), count)
	}
	for _, n := range nodes {
		if !n.ready() || !good(n) {
			return fmt.Sprintf("node %s: ready %v, %s, %s", n.Metadata.Name, n.ready(),
				n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.KernelVersion)
		}
	}
	return ""
}

func anyNode(node) bool { return true }
