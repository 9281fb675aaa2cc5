package clusterctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/testing/plane"
)

var (
	kills = flag.Int("kills", 50, "how many leaders TestLeader kills")
	seed  = flag.Uint64("seed", 20348, "of the moments of the kills")
)

// leaderFlags shorten the lease, so that the other replica takes over in seconds.
var leaderFlags = []string{"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"}

// TestLeader runs two replicas of casement-manager and kills the one that leads, at
// seeded moments, while a cluster is created, scaled, upgraded and deleted. No
// virtual machine may be made twice or left behind, and no object lost.
func TestLeader(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	releases := published(t)
	o := operator{t: t, plane: plane.New(t)}
	o.plane.Run(nil, "up", "--bare")
	o.config = releases.Config(t, first, o.plane.Run(nil, "status", "-o", "clusterctl"))
	o.init("azure:" + first)
	o.replicate()

	made := map[string]string{} // virtual machines by ID, with what Azure numbers each
	acts := o.acts()
	leaders := map[string]int{}
	doing := ""
	for i := range *kills {
		for len(acts) > 0 && i*50 >= acts[0].from**kills {
			doing = acts[0].does
			acts[0].do()
			acts = acts[1:]
		}
		pod, pid := o.leader()
		leaders[pod]++
		<-time.After(time.Duration(random.Int64N(int64(3 * time.Second)))) // the moment is what the test is about
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Logf("kill %d: process %d had gone: %v", i+1, pid, err)
		}
		o.note(made)
		t.Logf("kill %2d: %s, while %s; %d virtual machines", i+1, pod, doing, len(vms(o.plane)))
	}
	o.plane.Run(nil, "wait", "demo", "--for", "deleted", "--timeout", "4m")
	var left struct{ Value []struct{ ID string } }
	o.plane.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		t.Errorf("the local Azure still holds %v", left.Value)
	}
	if len(leaders) < 2 {
		t.Errorf("one replica alone has led: %v", leaders)
	}
	// 1 + 1 + 3 at first, 1 + 3 by the upgrade, which is not over when it is cut short.
	if *kills >= 50 && len(made) < 7 {
		t.Errorf("%d virtual machines were made in all: the upgrade did not get on", len(made))
	}
	t.Logf("leaders killed by pod: %v; virtual machines made: %d, none of them twice", leaders, len(made))
}

type action struct {
	from int
	does string
	do   func()
}

// acts returns the actions of an operator during the test; each begins after one fiftieth
// more of the kills.
func (o operator) acts() []action {
	patch := func(args ...string) func() {
		return func() { o.plane.Run(nil, append([]string{"kubectl"}, args...)...) }
	}
	return []action{
		{0, "creating", func() {
			manifest := o.clusterctl("generate", "cluster", "demo", "--flavor", "windows", "--kubernetes-version",
				kuberelease.Previous, "--control-plane-machine-count", "1", "--worker-machine-count", "1")
			o.plane.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
		}},
		{14, "scaling up", patch("scale", "machinedeployment", "demo-md-win", "--replicas=3")},
		{20, "upgrading", func() {
			o.plane.Run(nil, "kubectl", "patch", "kubeadmcontrolplane", "demo-control-plane", "--type=merge", "-p",
				`{"spec":{"version":"`+kuberelease.Default+`"}}`)
			o.plane.Run(nil, "kubectl", "patch", "machinedeployment", "demo-md-win", "--type=merge", "-p",
				`{"spec":{"template":{"spec":{"version":"`+kuberelease.Default+`"}}}}`)
		}},
		{40, "scaling down", patch("scale", "machinedeployment", "demo-md-win", "--replicas=1")},
		{44, "deleting", patch("delete", "cluster", "demo", "--wait=false")},
	}
}

// replicate makes the manager two, with a short lease.
func (o operator) replicate() {
	o.t.Helper()
	patch := []map[string]any{{"op": "replace", "path": "/spec/replicas", "value": 2}}
	for _, f := range leaderFlags {
		patch = append(patch, map[string]any{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": f})
	}
	data, err := json.Marshal(patch)
	if err != nil {
		o.t.Fatal(err)
	}
	o.plane.Run(nil, "kubectl", "patch", "-n", "casement-system", "deployment", "casement-controller-manager",
		"--type=json", "-p", string(data))
	o.plane.Run(nil, "kubectl", "rollout", "status", "-n", "casement-system", "deployment", "casement-controller-manager", "--timeout=60s")
}

// leader finds the pod that took the lease last, and its process.
func (o operator) leader() (pod string, pid int) {
	o.t.Helper()
	for range 120 {
		var latest float64
		logs, err := filepath.Glob(filepath.Join(o.plane.Home, "pods", "*", "manager.log"))
		if err != nil {
			o.t.Fatal(err)
		}
		for _, log := range logs {
			if at := acquired(o.t, log); at > latest {
				latest, pod = at, filepath.Base(filepath.Dir(log))
			}
		}
		if pid := processOf(pod); pid != 0 && latest > 0 {
			return pod, pid
		}
		<-time.After(250 * time.Millisecond)
	}
	o.t.Fatal("no replica leads")
	return "", 0
}

// acquired returns when the manager of a log took the lease last, in milliseconds; 0 for
// one whose process has begun again since.
func acquired(t *testing.T, log string) float64 {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		return 0 // the pod is gone
	}
	at := 0.0
	for line := range strings.Lines(string(data)) {
		var entry struct {
			TS  float64
			Msg string
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		if strings.Contains(entry.Msg, "Successfully acquired lease") {
			at = entry.TS
		} else if strings.Contains(entry.Msg, "Attempting to acquire leader lease") {
			at = 0
		}
	}
	return at
}

// processOf finds the process of a pod by the directory that its flags name.
func processOf(pod string) int {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || pod == "" {
		return 0
	}
	for _, path := range commands {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "/pods/"+pod+"/") {
			if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil {
				return pid
			}
		}
	}
	return 0
}

// note remembers the virtual machines and reports one that was made twice.
func (o operator) note(made map[string]string) {
	o.t.Helper()
	for id, number := range vms(o.plane) {
		if before, ok := made[id]; ok && before != number {
			o.t.Errorf("%s was made twice: %s, then %s", id, before, number)
		}
		made[id] = number
	}
	if machines := o.machines(); len(made) == 0 && len(machines) > 0 {
		fmt.Fprintf(o.t.Output(), "%d AzureMachines without a virtual machine yet\n", len(machines))
	}
}
