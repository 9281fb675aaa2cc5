package clusterctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	kills = flag.Int("kills", 50, "how many leaders TestLeader kills")
	seed  = flag.Uint64("seed", 20348, "of the moments of the kills")
)

// leaderFlags shorten the lease, so that the other replica becomes leader within seconds.
var leaderFlags = []string{"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"}

// TestLeader runs two replicas of casement-manager and kills the leader at seeded moments while two
// clusters, one of machines and one with a pool, are created, scaled, upgraded and deleted. No
// virtual machine may be created twice or remain without its object, and nothing may be lost or
// stuck.
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

	made := map[string]string{} // virtual machines by ID, with Azure's vmId
	acts := o.acts()
	leaders := map[string]int{}
	var rows []*during
	for i := range *kills {
		for len(acts) > 0 && i*50 >= acts[0].from**kills {
			rows = append(rows, &during{does: acts[0].does, since: time.Now()})
			acts[0].do()
			acts = acts[1:]
		}
		row := rows[len(rows)-1]
		pod, pid := o.leader()
		leaders[pod]++
		<-time.After(time.Duration(random.Int64N(int64(3 * time.Second)))) // the test needs random moments
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Logf("kill %d: process %d had gone: %v", i+1, pid, err)
		}
		row.kills, row.until = row.kills+1, time.Now()
		had := len(made)
		stays := len(acts) > 0 // otherwise the resource groups are being deleted, with machines whose objects are already deleted
		row.twice += o.note(made, stays)
		row.made += len(made) - had
		if stays {
			row.orphans += o.orphans()
		}
		t.Logf("kill %2d: %s, while %s; %d virtual machines", i+1, pod, row.does, len(vms(o.plane)))
	}
	for _, name := range killed {
		o.plane.Run(nil, "wait", name, "--for", "deleted", "--timeout", "15m")
	}
	var left struct{ Value []struct{ ID string } }
	o.plane.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		t.Errorf("the local Azure still holds %v", left.Value)
	}
	if len(leaders) < 2 {
		t.Errorf("one replica alone has led: %v", leaders)
	}
	// There are 2 * (1 + 1 + 3) machines at first. The upgrade would create four more for each
	// cluster, but it is ended before it completes.
	if *kills >= 50 && len(made) <= 10 {
		t.Errorf("%d virtual machines were made in all: the upgrade did not get on", len(made))
	}
	t.Logf("leaders killed by pod: %v; virtual machines made: %d", leaders, len(made))
	table := fmt.Sprintf("%-14s %6s %9s %6s %6s %8s\n", "WHILE", "KILLS", "TOOK", "MADE", "TWICE", "ORPHANS")
	for _, r := range rows {
		table += fmt.Sprintf("%-14s %6d %7.0f s %6d %6d %8d\n", r.does, r.kills, r.until.Sub(r.since).Seconds(), r.made, r.twice, r.orphans)
		if r.twice+r.orphans > 0 {
			t.Errorf("while %s, %d virtual machines were made twice and %d have no object any more", r.does, r.twice, r.orphans)
		}
	}
	t.Log("\n" + table)
}

// killed are the clusters of TestLeader; the second one has its Windows machines in a pool.
var killed = []string{"demo", "pooled"}

// during contains the counts during an action.
type during struct {
	does                        string
	kills, made, twice, orphans int
	since, until                time.Time
}

type action struct {
	from int
	does string
	do   func()
}

// acts returns the actions of an operator during the test; each begins after one fiftieth more of
// the kills.
func (o operator) acts() []action {
	kubectl := func(args ...string) { o.plane.Run(nil, append([]string{"kubectl"}, args...)...) }
	groups := []string{"machinedeployment/demo-md-win", "machinepool/pooled-mp-win"}
	scale := func(n int) func() {
		return func() {
			for _, group := range groups {
				kubectl("scale", group, fmt.Sprint("--replicas=", n))
			}
		}
	}
	return []action{
		{0, "creating", func() {
			for i, flavor := range []string{"windows", "machinepool-windows"} {
				manifest := o.clusterctl("generate", "cluster", killed[i], "--flavor", flavor, "--kubernetes-version",
					plane.Before(), "--control-plane-machine-count", "1", "--worker-machine-count", "1")
				o.plane.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
			}
		}},
		{14, "scaling up", scale(3)},
		{20, "upgrading", func() {
			for i, group := range groups {
				kubectl("patch", "kubeadmcontrolplane", killed[i]+"-control-plane", "--type=merge", "-p",
					`{"spec":{"version":"`+plane.Kubernetes()+`"}}`)
				kubectl("patch", group, "--type=merge", "-p", `{"spec":{"template":{"spec":{"version":"`+plane.Kubernetes()+`"}}}}`)
			}
		}},
		{40, "scaling down", scale(1)},
		{44, "deleting", func() { kubectl(append([]string{"delete", "cluster", "--wait=false"}, killed...)...) }},
	}
}

// replicate runs two replicas of the manager, with a short lease.
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

// leader returns the pod that acquired the lease last, and its process ID.
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

// acquired returns when the manager that wrote a log last acquired the lease, in milliseconds; 0 if
// its process has restarted since.
func acquired(t *testing.T, log string) float64 {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		return 0 // the pod was deleted
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

// processOf returns the ID of a pod's process, which it finds by the directory in the flags of the
// process.
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

// note records the virtual machines and, if sets is true, the instances of scale sets. It returns
// the number of machines that were created twice.
func (o operator) note(made map[string]string, sets bool) (twice int) {
	o.t.Helper()
	now := vms(o.plane)
	if sets {
		maps.Copy(now, instances(o.plane))
	}
	for id, number := range now {
		if before, ok := made[id]; ok && before != number {
			o.t.Logf("%s was made twice: %s, then %s", id, before, number)
			twice++
		}
		made[id] = number
	}
	return twice
}

// orphans returns the number of virtual machines whose AzureMachine was deleted before them. The
// virtual machine of a Windows machine has a shorter name with the same end.
func (o operator) orphans() (n int) {
	o.t.Helper()
	const end = 5
	before, objects := vms(o.plane), map[string]bool{}
	for name := range o.machines() {
		objects[name[max(0, len(name)-end):]] = true
	}
	for id, number := range vms(o.plane) {
		if before[id] == number && !objects[id[len(id)-end:]] {
			o.t.Logf("%s has no AzureMachine", id)
			n++
		}
	}
	return n
}

// instances returns the vmId of the instances of the local Azure's scale sets, by ID.
func instances(p *plane.Plane) map[string]string {
	type list struct {
		Value []struct {
			ID         string
			Properties struct{ VMID string }
		}
	}
	out := map[string]string{}
	var sets list
	p.ARM("/providers/Microsoft.Compute/virtualMachineScaleSets", computeAPI, &sets)
	for _, set := range sets.Value {
		_, path, _ := strings.Cut(set.ID, p.Subscription())
		var all list
		p.ARM(path+"/virtualMachines", computeAPI, &all)
		for _, v := range all.Value {
			out[strings.ToLower(v.ID)] = v.Properties.VMID
		}
	}
	return out
}
