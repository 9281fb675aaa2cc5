package autoscaler

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	program = flag.String("autoscaler", "", "the program cluster-autoscaler, built with the tag clusterapi")
	only    = flag.String("only", "", "run the cells whose name has this in it")
)

//go:embed pods.yaml
var pods string

// build is the Windows build of the groups' nodes; no group has the build in other.
const build, other = "10.0.20348", "10.0.26100"

// scene is one cluster with one group of Windows nodes that the autoscaler may scale.
type scene struct {
	t        *testing.T
	p        *plane.Plane
	workload func(args ...string) string
	cell     string
	// kind and name identify the group for kubectl.
	kind, name string
	rows       []row
}

type row struct {
	cell, what string
	took       time.Duration
	nodes      int
}

// cells are the kinds of node groups, each with the flavor of its cluster.
var cells = []struct{ name, flavor, kind, group string }{
	{"machines", "windows", "machinedeployment", "demo-md-win"},
	{"pools", "machinepool-windows", "machinepool", "demo-mp-win"},
	{"class", "topology-windows", "machinedeployment", ""},
}

func TestAutoscaler(t *testing.T) {
	if *program == "" {
		t.Skip("no -autoscaler: make e2e-autoscaler AUTOSCALER=PATH (docs/windows.md says how it is built)")
	}
	var rows []row
	for _, c := range cells {
		if !strings.Contains(c.name, *only) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s := &scene{t: t, cell: c.name, kind: c.kind, name: c.group, p: plane.New(t, "WINDOWS_SERVER_VERSION=windows-2022")}
			defer func() { rows = append(rows, s.rows...) }()
			s.p.Run(nil, "up")
			manifest := s.p.Run(nil, "generate", "cluster", "demo", "--flavor", c.flavor, "--worker-machine-count", "1")
			s.p.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
			s.p.Run(nil, "wait", "demo", "--timeout", "5m")
			s.workload = s.p.Workload("demo")
			s.begin()
			start(t, *program, s.p)
			s.do("to none, without pods", func() { s.sized(0) })
			s.do("from none, pods that select the build", func() { s.deploy(3, build, ""); s.served(3) })
			if c.name == "class" {
				s.do("to none", s.end)
				return
			}
			s.do("a budget for disruptions keeps nodes", s.kept)
			s.do("up during a rollout", s.rollout)
			s.do("to none", s.end)
			s.do("pods that select another release", func() { s.deploy(1, other, ""); s.refused(); s.end() })
			s.do("a taint that pods do not tolerate", s.tainted)
			s.do("a GPU", s.gpu)
			s.do("Azure refuses for the quota, then not", s.quota)
			s.do("to none again", s.end)
		})
	}
	t.Log("\n" + table(rows))
}

func table(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-9s %-40s %8s %6s\n", "GROUP", "WHAT", "TOOK", "NODES")
	for _, r := range rows {
		fmt.Fprintf(&b, "%-9s %-40s %6.1f s %6d\n", r.cell, r.what, r.took.Seconds(), r.nodes)
	}
	return b.String()
}

func (s *scene) do(what string, f func()) {
	s.t.Helper()
	begun := time.Now()
	f()
	s.rows = append(s.rows, row{s.cell, what, time.Since(begun), len(s.nodes())})
	s.t.Logf("%s: %.1f s", what, time.Since(begun).Seconds())
}

// patience limits each wait.
const patience = 6 * time.Minute

func (s *scene) until(what string, f func() string) {
	s.t.Helper()
	missing := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if missing = f(); missing == "" {
			return
		}
	}
	s.t.Fatalf("%s: %s", what, missing)
}

func (s *scene) management(args ...string) string {
	s.t.Helper()
	return strings.TrimSpace(s.p.Run(nil, append([]string{"kubectl"}, args...)...))
}

// begin lets the autoscaler scale the group.
func (s *scene) begin() {
	const sizes = `{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size":"0",` +
		`"cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size":"4"}`
	if s.name != "" {
		s.management("patch", s.kind, s.name, "--type", "merge", "-p", `{"metadata":{"annotations":`+sizes+`}}`)
		return
	}
	// The Cluster's topology must have no number of replicas for a group that others scale, because
	// the class would own the number.
	var cluster struct {
		Spec struct{ Topology map[string]any }
	}
	if err := json.Unmarshal([]byte(s.management("get", "cluster", "demo", "-o", "json")), &cluster); err != nil {
		s.t.Fatal(err)
	}
	workers, _ := cluster.Spec.Topology["workers"].(map[string]any)
	groups, _ := workers["machineDeployments"].([]any)
	for _, g := range groups {
		if g, _ := g.(map[string]any); g["name"] == "md-win" {
			delete(g, "replicas")
			g["metadata"] = map[string]any{"annotations": json.RawMessage(sizes)}
		}
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"topology": cluster.Spec.Topology}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.management("patch", "cluster", "demo", "--type", "merge", "-p", string(patch))
	s.name = s.management("get", "machinedeployment", "-l", "topology.cluster.x-k8s.io/deployment-name=md-win", "-o",
		"jsonpath={.items[0].metadata.name}")
}

// nodes returns the names of the group's nodes.
func (s *scene) nodes() []string {
	s.t.Helper()
	return strings.Fields(s.workload("get", "nodes", "-l", "kubernetes.io/os=windows", "-o", "jsonpath={.items[*].metadata.name}"))
}

// sized waits until the group has n nodes and requests no other number.
func (s *scene) sized(n int) {
	s.t.Helper()
	s.until("the nodes", func() string {
		nodes, wants := s.nodes(), s.management("get", s.kind, s.name, "-o", "jsonpath={.spec.replicas}")
		if len(nodes) != n || wants != fmt.Sprint(n) {
			return fmt.Sprintf("%d nodes, the group wants %s, and it should be %d", len(nodes), wants, n)
		}
		return ""
	})
}

// deploy creates a Deployment of pods; more is YAML for the pod's spec, with the indentation that
// it needs there.
func (s *scene) deploy(replicas int, build, more string) {
	s.t.Helper()
	text := strings.NewReplacer("REPLICAS", fmt.Sprint(replicas), "BUILD", build, "      MORE\n", more).Replace(pods)
	s.p.Run([]byte(text), "kubectl", "--kubeconfig", s.p.Kubeconfig("demo"), "apply", "-f", "-")
}

// served waits until n pods run.
func (s *scene) served(n int) {
	s.t.Helper()
	s.until("the pods", func() string {
		if ready := s.workload("get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}"); ready != fmt.Sprint(n) {
			return ready + " pods are ready"
		}
		return ""
	})
}

// end deletes the pods and waits until the last node is removed.
func (s *scene) end() {
	s.workload("delete", "deployment", "web", "--ignore-not-found")
	s.sized(0)
}

// refused waits until the autoscaler has reported for a pod that no group could run it.
func (s *scene) refused() {
	s.t.Helper()
	s.until("the autoscaler's answer", func() string {
		reasons := strings.Fields(s.workload("get", "events", "--field-selector", "reason=NotTriggerScaleUp", "-o",
			"jsonpath={.items[*].involvedObject.name}"))
		for _, pod := range strings.Fields(s.workload("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}")) {
			if slices.Contains(reasons, pod) {
				return ""
			}
		}
		return "no event says that no group helps"
	})
	if nodes := s.nodes(); len(nodes) > 0 {
		s.t.Errorf("nodes came for pods that they cannot have: %v", nodes)
	}
}

// kept makes half of the nodes unneeded. As long as a disruption budget forbids the eviction of
// their pods, no node may be removed; without the budget it is removed.
func (s *scene) kept() {
	before := len(s.nodes())
	s.workload("create", "poddisruptionbudget", "web", "--selector=app=web", "--max-unavailable=0")
	s.workload("scale", "deployment", "web", "--replicas=2")
	spread := func() map[string]bool {
		nodes := map[string]bool{}
		for _, n := range strings.Fields(s.workload("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}")) {
			nodes[n] = true
		}
		return nodes
	}
	s.served(2)
	if len(spread()) == 2 {
		s.until("the autoscaler's answer", func() string {
			out := s.workload("get", "configmap", "cluster-autoscaler-status", "-n", "kube-system", "-o", "yaml")
			if !strings.Contains(out, "NoCandidates") {
				return "it has candidates: " + out
			}
			return ""
		})
		if after := len(s.nodes()); after < before { // an additional node may have been in creation
			s.t.Errorf("%d of %d nodes are left, and the budget allows no move", after, before)
		}
	}
	s.workload("delete", "poddisruptionbudget", "web")
	s.sized(1)
	s.served(2)
}

// rollout replaces the group's nodes and requests more of them at the same time.
func (s *scene) rollout() {
	old := s.nodes()
	if s.kind == "machinepool" {
		s.management("patch", "azuremachinepool", s.name, "--type", "merge", "-p", `{"spec":{"template":{"vmExtensions":[{`+
			`"name":"CustomScriptExtension","publisher":"Microsoft.Compute","version":"1.10",`+
			`"settings":{"commandToExecute":"powershell.exe -Command Get-Date"}}]}}}`)
	} else {
		s.management("patch", s.kind, s.name, "--type", "merge", "-p",
			`{"spec":{"rollout":{"after":"`+time.Now().UTC().Format(time.RFC3339)+`"}}}`)
	}
	s.workload("scale", "deployment", "web", "--replicas=4")
	s.served(4)
	s.until("new nodes", func() string {
		for _, n := range s.nodes() {
			if slices.Contains(old, n) {
				return n + " is not replaced"
			}
		}
		return ""
	})
	s.served(4)
}

// promise sets annotations that describe the group's future nodes; "null" removes an annotation.
func (s *scene) promise(annotations string) {
	s.management("patch", s.kind, s.name, "--type", "merge", "-p", `{"metadata":{"annotations":{`+annotations+`}}}`)
}

func (s *scene) tainted() {
	const taints = `"capacity.cluster-autoscaler.kubernetes.io/taints":`
	s.promise(taints + `"team=blue:NoSchedule"`)
	s.deploy(1, build, "")
	s.refused()
	s.deploy(1, build, "      tolerations: [{key: team, operator: Exists}]\n")
	s.served(1)
	s.end()
	s.promise(taints + `null`)
}

// gpu checks that the first node is created for a pod that requests a GPU. The simulated node has
// no GPU, so the pod stays pending.
func (s *scene) gpu() {
	const count, kind = `"capacity.cluster-autoscaler.kubernetes.io/gpu-count":`, `"capacity.cluster-autoscaler.kubernetes.io/gpu-type":`
	s.promise(count + `"1",` + kind + `"microsoft.com/directx"`)
	s.deploy(1, build, "")
	s.workload("set", "resources", "deployment", "web", "--limits=microsoft.com/directx=1")
	s.until("a node", func() string {
		if len(s.nodes()) == 0 {
			return "none has come"
		}
		return ""
	})
	s.end()
	s.promise(count + `null,` + kind + `null`)
}

// quota lets Azure refuse machines until the quota is raised.
func (s *scene) quota() {
	s.p.Run(nil, "azure", "faults", "add", "quota", "--resource-group", "demo")
	s.deploy(1, build, "")
	infra := map[string]string{"machinedeployment": "azuremachines", "machinepool": "azuremachinepools"}[s.kind]
	s.until("Azure's refusal", func() string {
		if out := s.management("get", infra, "-o", "json"); !strings.Contains(out, "uota") {
			return "no condition says that the quota is used up"
		}
		return ""
	})
	s.p.Run(nil, "azure", "faults", "clear")
	s.served(1)
}
