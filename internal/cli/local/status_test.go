package local

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/terminal"
	"casement.dev/casement/internal/testing/golden"
)

// TestStatusScreens compares the output of status at several terminal widths with golden files; width 0 is a pipe.
func TestStatusScreens(t *testing.T) {
	s := plane.Status{PID: 4711, Phase: plane.PhaseReady, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local),
		Notices:   []string{"the state of VM demo-md-w-qn7zj was damaged; it is kept as vm.json.damaged"},
		Simulated: []string{"Azure (ARM, its network and its VMs)", "containers (each answers on its ports with a page that says so)"},
		Guests: []plane.Guest{
			{Name: "demo-control-plane-cc7nx", OS: "Linux", Phase: "Running", Address: "10.0.0.4",
				Loopback: "127.37.0.4", Asked: "v1.36.3", Runs: "v1.36.3"},
			{
				Name: "demo-md-w-65x9m", OS: "Windows", Phase: "Failed", Address: "10.1.0.6", Loopback: "127.1.0.6",
				Asked: "v1.36.3", Message: "the boot agent found no user data, which a machine of this image needs",
			}},
		Listeners: []plane.Listener{{Owner: "demo-public-lb/lbrulehttps", Address: "127.20.0.3:6443", Backends: 1, Healthy: 1},
			{Owner: "demo-public-lb/web", Address: "127.20.0.4:8080", Instead: "127.20.0.4:80", Backends: 2},
			{Owner: "demo-md-w-65x9m/rdp", Address: "127.1.0.6:3389"}},
		Restarts: []plane.Restart{{Name: "kube-apiserver of demo", Times: 2,
			Last: time.Date(2026, 1, 2, 3, 5, 0, 0, time.Local), Reason: "signal: killed"}},
		Stubs: []plane.Stub{{Name: "cloud-controller-manager",
			Does: "deletes nodes whose machine is gone; makes load balancers for services in the local Azure"}},
	}
	s.Kubernetes.Version, s.Kubernetes.Server, s.Kubernetes.Kubeconfig = "v1.36.3", "https://127.0.0.1:36453",
		"/home/somebody/.local/state/casement/kubeconfig"
	s.Azure.Endpoint = "https://127.0.0.1:23001"
	for _, width := range []int{0, 60, 80, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			var out bytes.Buffer
			table := terminal.NewTable(&out, width)
			statusTable(table, s, false)
			if err := table.Flush(); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", fmt.Sprintf("status-%d.txt", width)), out.Bytes())
		})
	}
}
