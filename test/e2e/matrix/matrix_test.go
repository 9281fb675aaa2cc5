package matrix

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	full      = flag.Bool("full", false, "every cell; otherwise one of each kind")
	templates = flag.String("templates", "", "directory of cluster templates of CAPZ v1.0.0 to run too")
)

// cell is one cluster of the matrix.
type cell struct {
	name string
	env  string
	args []string
	// nodes are the texts that `kubectl get nodes -o wide` must print.
	nodes []string
	full  bool
}

func cells() []cell {
	flavor := func(f string) []string { return []string{"--flavor", f} }
	all := []cell{
		{name: "default", args: flavor("default"), nodes: []string{"Ubuntu"}},
		{name: "ha", args: append(flavor("windows"), "--control-plane-machine-count", "3"), nodes: []string{"Windows Server 2022"}},
		{name: "windows-2019", env: "WINDOWS_SERVER_VERSION=windows-2019", args: flavor("windows"),
			nodes: []string{"Windows Server 2019", "10.0.17763."}},
		{name: "windows-2022", env: "WINDOWS_SERVER_VERSION=windows-2022", args: flavor("windows"),
			nodes: []string{"Windows Server 2022", "10.0.20348."}, full: true},
		{name: "windows-2025", env: "WINDOWS_SERVER_VERSION=windows-2025", args: flavor("windows"),
			nodes: []string{"Windows Server 2025", "10.0.26100."}, full: true},
		{name: "machinepool", args: flavor("machinepool"), nodes: []string{"Ubuntu"}, full: true},
		{name: "pools-windows", args: append(flavor("machinepool-windows"), "--worker-machine-count", "2"),
			nodes: []string{"Windows Server 2022", "win-p-win000001"}},
		{name: "internal-lb", args: flavor("windows-internal-lb"), nodes: []string{"Windows Server 2022"}},
		{name: "topology", args: flavor("topology-windows"), nodes: []string{"Windows Server 2022"}, full: true},
		{name: "topology-pools", args: flavor("topology-machinepool-windows"), nodes: []string{"Windows Server 2022", "win-"}, full: true},
		{name: "azure-cni", args: flavor("windows-azure-cni"), nodes: []string{"Windows Server 2022"}, full: true},
		{name: "five", args: append(flavor("default"), "--control-plane-machine-count", "5"), nodes: []string{"Ubuntu"}, full: true},
		{name: "older", args: append(flavor("windows"), "--kubernetes-version", "v1.34.2"),
			nodes: []string{"v1.34.2", "Windows Server 2022"}, full: true},
	}
	if *templates != "" {
		from := func(file string) []string {
			return []string{"--from", filepath.Join(*templates, file), "--kubernetes-version", "v1.22.1"}
		}
		all = append(all,
			cell{name: "capz-default", args: from("cluster-template.yaml"), nodes: []string{"v1.22.1"}},
			cell{name: "capz-windows", args: from("cluster-template-windows-containerd.yaml"),
				nodes: []string{"v1.22.1", "Windows Server 2019", "containerd://"}},
			cell{name: "capz-docker", args: from("cluster-template-windows.yaml"),
				nodes: []string{"v1.22.1", "Windows Server 2019", "docker://"}},
			cell{name: "capz-pools", args: from("cluster-template-machinepool-windows-containerd.yaml"),
				nodes: []string{"v1.22.1", "Windows Server 2019", "containerd://"}},
			cell{name: "capz-pools-docker", args: from("cluster-template-machinepool-windows.yaml"),
				nodes: []string{"v1.22.1", "Windows Server 2019", "docker://"}},
		)
	}
	return all
}

func TestMatrix(t *testing.T) {
	var table []string
	for _, c := range cells() {
		if c.full && !*full {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			ready, gone := run(t, c)
			verdict := "pass"
			if t.Failed() {
				verdict = "FAIL"
			}
			table = append(table, fmt.Sprintf("%-16s %8.1f s %8.1f s  %s", c.name, ready.Seconds(), gone.Seconds(), verdict))
		})
	}
	t.Logf("\n%-16s %10s %10s\n%s", "CLUSTER", "READY", "DELETED", strings.Join(table, "\n"))
}

// run creates, checks and deletes one cluster on a separate plane.
func run(t *testing.T, c cell) (ready, gone time.Duration) {
	p := plane.New(t, c.env)
	p.Run(nil, "up")
	start := time.Now()
	manifest := p.Run(nil, append([]string{"generate", "cluster", "demo"}, c.args...)...)
	p.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	ready = time.Since(start)
	workload := p.Workload("demo")
	nodes := workload("get", "nodes", "-o", "wide")
	for _, want := range c.nodes {
		if !strings.Contains(nodes, want) {
			t.Errorf("no node shows %q:\n%s", want, nodes)
		}
	}
	start = time.Now()
	p.Run(nil, "kubectl", "delete", "cluster", "demo", "--wait=false")
	p.Run(nil, "wait", "demo", "--for", "deleted", "--timeout", "3m")
	gone = time.Since(start)
	var left struct{ Value []struct{ ID string } }
	p.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		t.Errorf("the local Azure still holds %v", left.Value)
	}
	if dirs, err := filepath.Glob(filepath.Join(p.Home, "vms", "*", "*")); err != nil || len(dirs) > 0 {
		t.Errorf("directories of VMs are left: %v %v", dirs, err)
	}
	return ready, gone
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
