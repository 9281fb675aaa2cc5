package life

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/test/plane"
)

var full = flag.Bool("full", false, "every cell; otherwise a representative one")

//go:embed workload.yaml
var workload string

// Versions that the Kubernetes upgrade goes between.
const (
	older = "v1.35.2"
	newer = "v1.36.3"
)

// builds are the Windows releases in the order of their upgrades.
var builds = []struct{ release, build string }{
	{"2019", "10.0.17763"}, {"2022", "10.0.20348"}, {"2025", "10.0.26100"},
}

// life is one cluster and what has been seen of it.
type life struct {
	t       *testing.T
	p       *plane.Plane
	kubectl func(args ...string) string
	pools   bool
	release int // index in builds
	probe   *probe
	rows    []row
	cell    string
}

type row struct {
	cell, action  string
	took          time.Duration
	asked, failed int
	puts          int
	why           string
}

func TestLife(t *testing.T) {
	var rows []row
	for _, c := range []struct {
		name    string
		flavor  string
		release int
		full    bool
	}{
		{"machines 2019", "windows", 0, true},
		{"machines 2022", "windows", 1, true},
		{"pools 2019", "machinepool-windows", 0, true},
		{"pools 2022", "machinepool-windows", 1, false},
	} {
		if c.full && !*full {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			l := &life{t: t, cell: c.name, pools: strings.HasPrefix(c.flavor, "machinepool"), release: c.release,
				p: plane.New(t, "WINDOWS_SERVER_VERSION=windows-"+builds[c.release].release)}
			l.p.Run(nil, "up")
			defer func() { rows = append(rows, l.rows...) }()
			l.do("create", func() { l.create(c.flavor) })
			defer l.probe.end()
			l.do("scale 2 to 4", func() { l.scale(4) })
			l.do("scale 4 to 2", func() { l.scale(2) })
			l.do("upgrade Kubernetes", l.upgradeKubernetes)
			l.do("upgrade Windows", l.upgradeWindows)
			l.do("repair: VM deleted", func() { l.repair(l.deleteVM) })
			l.do("repair: VM stopped", func() { l.repair(l.stopVM) })
			l.do("delete", l.delete)
		})
	}
	t.Log("\n" + table(rows))
}

// TestControlPlane takes a control plane from one machine to three, through the loss of
// one, and back.
func TestControlPlane(t *testing.T) {
	if !*full {
		t.Log("left to -full: it takes minutes")
		return
	}
	l := &life{t: t, cell: "control plane", p: plane.New(t)}
	l.p.Run(nil, "up")
	l.do("create", func() {
		l.p.Run(l.p.Create("demo", "default"), "kubectl", "apply", "-f", "-")
		l.p.Run(nil, "wait", "demo", "--timeout", "4m")
	})
	l.do("scale 1 to 3", func() { l.controlPlane(3) })
	l.do("loss of one of 3", l.loseControlPlane)
	l.do("scale 3 to 1", func() { l.controlPlane(1) })
	l.do("rollout", func() {
		l.management("patch", "kubeadmcontrolplane", "demo-control-plane", "--type", "merge", "-p",
			`{"spec":{"rollout":{"after":"`+time.Now().UTC().Format(time.RFC3339)+`"}}}`)
		before := l.controlPlaneMachines()
		l.until("another machine", func() string {
			if slices.Equal(before, l.controlPlaneMachines()) {
				return "still " + before[0]
			}
			return l.missingControlPlane(1)
		})
	})
	l.do("delete", l.delete)
	t.Log("\n" + table(l.rows))
}

func (l *life) controlPlane(n int) {
	l.management("scale", "kubeadmcontrolplane", "demo-control-plane", "--replicas", fmt.Sprint(n))
	l.until("control plane", func() string { return l.missingControlPlane(n) })
}

// missingControlPlane says how the control plane differs from n machines that are ready.
func (l *life) missingControlPlane(n int) string {
	got := l.management("get", "kubeadmcontrolplane", "demo-control-plane", "-o",
		"jsonpath={.spec.replicas}/{.status.replicas}/{.status.readyReplicas}/{.status.upToDateReplicas}/{.status.availableReplicas}")
	if want := fmt.Sprintf("%[1]d/%[1]d/%[1]d/%[1]d/%[1]d", n); got != want {
		return "replicas " + got + ", not " + want
	}
	return ""
}

func (l *life) controlPlaneMachines() []string {
	return strings.Fields(l.management("get", "machines", "-l", "cluster.x-k8s.io/control-plane", "-o", "jsonpath={.items[*].metadata.name}"))
}

// loseControlPlane deletes a VM under a control plane of three, which a health check
// lets KubeadmControlPlane replace.
func (l *life) loseControlPlane() {
	l.p.Run(fmt.Appendf(nil, healthCheck, "cluster.x-k8s.io/control-plane", `""`), "kubectl", "apply", "-f", "-")
	machines := l.controlPlaneMachines()
	id := l.management("get", "azuremachine", machines[0], "-o", "jsonpath={.spec.providerID}")
	l.deleteVM(strings.TrimPrefix(id, "azure://"))
	l.until("another machine", func() string {
		if slices.Contains(l.controlPlaneMachines(), machines[0]) {
			return machines[0] + " is still there"
		}
		return l.missingControlPlane(3)
	})
	l.management("delete", "machinehealthcheck", "demo-win")
}

func table(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %-20s %8s %9s %7s %5s\n", "CELL", "ACTION", "TOOK", "REQUESTS", "FAILED", "PUTS")
	for _, r := range rows {
		fmt.Fprintf(&b, "%-14s %-20s %6.1f s %9d %7d %5d  %s\n", r.cell, r.action, r.took.Seconds(), r.asked, r.failed, r.puts, r.why)
	}
	return b.String()
}

// do runs one action and notes what it took.
func (l *life) do(action string, f func()) {
	l.t.Helper()
	if l.t.Failed() {
		return
	}
	puts := l.puts()
	if l.probe != nil {
		l.probe.take()
	}
	start := time.Now()
	f()
	r := row{cell: l.cell, action: action, took: time.Since(start), puts: l.puts() - puts}
	if l.probe != nil {
		r.asked, r.failed, r.why = l.probe.take()
	}
	l.rows = append(l.rows, r)
	l.t.Logf("%s: %.1f s", action, r.took.Seconds())
}

// puts are the PUTs of virtual machines and scale sets so far.
func (l *life) puts() int {
	var calls struct {
		Counters []struct {
			Verb, Type string
			Count      int
		}
	}
	if err := json.Unmarshal([]byte(l.p.Run(nil, "calls", "-o", "json")), &calls); err != nil {
		l.t.Fatal(err)
	}
	n := 0
	for _, c := range calls.Counters {
		if c.Verb == "PUT" && (c.Type == "Microsoft.Compute/virtualMachines" || c.Type == "Microsoft.Compute/virtualMachineScaleSets") {
			n += c.Count
		}
	}
	return n
}

// patience bounds every wait.
const patience = 4 * time.Minute

// until waits for a state; f says what is still missing, "" for nothing.
func (l *life) until(what string, f func() string) {
	l.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := f()
		if missing == "" {
			return
		}
		select {
		case <-deadline.C:
			l.t.Fatalf("%s: after %s still: %s", what, patience, missing)
		case <-tick.C:
		}
	}
}

func (l *life) management(args ...string) string {
	l.t.Helper()
	return l.p.Run(nil, append([]string{"kubectl"}, args...)...)
}

func (l *life) create(flavor string) {
	manifest := l.p.Run(nil, "generate", "cluster", "demo", "--flavor", flavor, "--kubernetes-version", older, "--worker-machine-count", "2")
	l.p.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	l.p.Run(nil, "wait", "demo", "--timeout", "4m")
	l.kubectl = l.p.Workload("demo")
	l.serve(l.release)
	l.until("the service", func() string { return l.missingPods(l.release) })
	address := ""
	l.until("the service's address", func() string {
		address = l.kubectl("get", "service", "web", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if address == "" {
			return "no address"
		}
		return ""
	})
	l.probe = startProbe("http://" + address + "/")
	l.until("the first answer", func() string {
		if asked, failed, why := l.probe.take(); asked == 0 || failed > 0 {
			return "no answer: " + why
		}
		return ""
	})
}

// serve runs the workload on the nodes of a release.
func (l *life) serve(release int) {
	text := strings.NewReplacer("RELEASE", builds[release].release, "BUILD", builds[release].build).Replace(workload)
	l.p.Run([]byte(text), "kubectl", "--kubeconfig", l.p.Kubeconfig("demo"), "apply", "-f", "-")
}

func (l *life) missingPods(release int) string {
	if got := l.kubectl("get", "deployment", "web-"+builds[release].release, "-o", "jsonpath={.status.readyReplicas}"); got != "2" {
		return got + " of 2 pods are ready"
	}
	return ""
}

// group names what holds the Windows machines.
func (l *life) group() (kind, name, selector string) {
	if l.pools {
		return "machinepool", "demo-mp-win", "cluster.x-k8s.io/pool-name=demo-mp-win"
	}
	return "machinedeployment", "demo-md-win", "cluster.x-k8s.io/deployment-name=demo-md-win"
}

// nodes of the workload cluster, those of Windows or all.
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
	return slices.ContainsFunc(n.Status.Conditions, func(c struct{ Type, Status string }) bool { return c.Type == "Ready" && c.Status == "True" })
}

func (l *life) nodes(windows bool) []node {
	l.t.Helper()
	// The API server goes away and comes back while its machine is replaced.
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

// missing says how the nodes differ from what is wanted.
func (l *life) missing(windows bool, count int, good func(node) bool) string {
	nodes := l.nodes(windows)
	if len(nodes) != count {
		return fmt.Sprintf("%d nodes, not %d", len(nodes), count)
	}
	for _, n := range nodes {
		if !n.ready() || !good(n) {
			return fmt.Sprintf("node %s: ready %v, %s, %s", n.Metadata.Name, n.ready(), n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.KernelVersion)
		}
	}
	return ""
}

func anyNode(node) bool { return true }

func (l *life) scale(n int) {
	kind, name, _ := l.group()
	l.management("scale", kind, name, "--replicas", fmt.Sprint(n))
	l.until("Windows nodes", func() string { return l.missing(true, n, anyNode) })
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.settled()
}

// settled waits until Cluster API sees nothing left to do in the group.
func (l *life) settled() {
	kind, name, selector := l.group()
	l.until("Machines", func() string {
		var list struct {
			Items []struct {
				Metadata struct{ Name, DeletionTimestamp string }
				Status   struct{ Phase string }
			}
		}
		if err := json.Unmarshal([]byte(l.management("get", "machines", "-l", selector, "-o", "json")), &list); err != nil {
			l.t.Fatal(err)
		}
		for _, m := range list.Items {
			if m.Status.Phase != "Running" || m.Metadata.DeletionTimestamp != "" {
				return fmt.Sprintf("Machine %s is %s", m.Metadata.Name, m.Status.Phase)
			}
		}
		if want := l.management("get", kind, name, "-o", "jsonpath={.spec.replicas}"); want != fmt.Sprint(len(list.Items)) {
			return fmt.Sprintf("%d Machines, not %s", len(list.Items), want)
		}
		return ""
	})
}

func (l *life) upgradeKubernetes() {
	patch := func(kind, name, path string) {
		l.management("patch", kind, name, "--type", "merge", "-p", fmt.Sprintf(path, newer))
	}
	patch("kubeadmcontrolplane", "demo-control-plane", `{"spec":{"version":"%s"}}`)
	l.until("control plane", func() string {
		return l.missing(false, 5, func(n node) bool {
			_, control := n.Metadata.Labels["node-role.kubernetes.io/control-plane"]
			return !control || n.Status.NodeInfo.KubeletVersion == newer
		})
	})
	group := `{"spec":{"template":{"spec":{"version":"%s"}}}}`
	if l.pools {
		patch("machinepool", "demo-mp-0", group)
		patch("machinepool", "demo-mp-win", group)
	} else {
		patch("machinedeployment", "demo-md-0", group)
		patch("machinedeployment", "demo-md-win", group)
	}
	l.until("all nodes", func() string {
		return l.missing(false, 5, func(n node) bool { return n.Status.NodeInfo.KubeletVersion == newer })
	})
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.settled()
}

// upgradeWindows moves the nodes to the next release. The workload of that release is
// there before; its pods run as soon as they can.
func (l *life) upgradeWindows() {
	was, next := builds[l.release], builds[l.release+1]
	l.serve(l.release + 1)
	if l.pools {
		l.management("annotate", "azuremachinepool", "demo-mp-win", "windowsServerVersion=windows-"+next.release, "--overwrite")
	} else {
		template := l.management("get", "azuremachinetemplate", "demo-md-win", "-o", "json")
		var object map[string]any
		if err := json.Unmarshal([]byte(template), &object); err != nil {
			l.t.Fatal(err)
		}
		object["metadata"] = map[string]any{"name": "demo-md-win-" + next.release, "namespace": "default"}
		data, err := json.Marshal(object)
		if err != nil {
			l.t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "windows-"+was.release, "windows-"+next.release)
		l.p.Run([]byte(text), "kubectl", "apply", "-f", "-")
		l.management("patch", "machinedeployment", "demo-md-win", "--type", "merge", "-p",
			`{"spec":{"template":{"spec":{"infrastructureRef":{"name":"demo-md-win-`+next.release+`"}}}}}`)
	}
	l.until("Windows nodes", func() string {
		return l.missing(true, 2, func(n node) bool { return strings.HasPrefix(n.Status.NodeInfo.KernelVersion, next.build) })
	})
	l.release++
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.kubectl("delete", "deployment", "web-"+was.release)
	l.settled()
}

const healthCheck = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: demo-win, namespace: default}
spec:
  clusterName: demo
  selector: {matchLabels: {%s: %s}}
  checks:
    nodeStartupTimeoutSeconds: 300
    unhealthyNodeConditions:
    - {type: Ready, status: Unknown, timeoutSeconds: 5}
    - {type: Ready, status: "False", timeoutSeconds: 30}
`

// repair breaks a Windows node's machine and waits until there is another.
func (l *life) repair(harm func(id string)) {
	_, _, selector := l.group()
	key, value, _ := strings.Cut(selector, "=")
	l.p.Run(fmt.Appendf(nil, healthCheck, key, value), "kubectl", "apply", "-f", "-")
	victim := l.nodes(true)[0]
	harm(strings.TrimPrefix(victim.Spec.ProviderID, "azure://"))
	l.until("another node", func() string {
		return l.missing(true, 2, func(n node) bool { return n.Metadata.Name != victim.Metadata.Name })
	})
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.settled()
}

const computeVersion = "2024-07-01"

func (l *life) deleteVM(id string) { l.p.Azure("DELETE", relative(id), computeVersion, nil) }

func (l *life) stopVM(id string) { l.p.Azure("POST", relative(id)+"/powerOff", computeVersion, nil) }

// relative is an ID without its subscription.
func relative(id string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(id, "/subscriptions/"), "/")
	return "/" + rest
}

func (l *life) delete() {
	l.management("delete", "cluster", "demo", "--wait=false")
	l.p.Run(nil, "wait", "demo", "--for", "deleted", "--timeout", "3m")
	var left struct{ Value []struct{ ID string } }
	l.p.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		l.t.Errorf("the local Azure still holds %v", left.Value)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
