package life

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	full = flag.Bool("full", false, "every cell; otherwise a representative one")
	only = flag.String("only", "", "leave out the actions that this regular expression does not match, but for create and delete")
)

//go:embed workload.yaml
var workload string

// The Kubernetes versions before and after the upgrade.
var (
	older = plane.Before()
	newer = plane.Kubernetes()
)

// builds lists the Windows releases in the order of their upgrades.
var builds = []struct{ release, build string }{
	{"2019", "10.0.17763"}, {"2022", "10.0.20348"}, {"2025", "10.0.26100"},
}

// life is one cluster and the state of its test.
type life struct {
	t       *testing.T
	p       *plane.Plane
	kubectl func(args ...string) string
	pools   bool
	// class is set if a ClusterClass describes the cluster.
	class   bool
	release int // index in builds
	probe   *probe
	rows    []row
	cell    string
	// spot makes the Windows machines spot machines, which Azure may evict.
	spot  bool
	notes []string
	// heard contains the messages of the infrastructure from before the fault.
	heard []string
	// asked is the number of runs of why while there was no fault; alarms contains the answers that
	// reported one.
	asked  int
	alarms []string
}

type row struct {
	cell, action  string
	took          time.Duration
	asked, failed int
	puts          int
	why           string
}

// cell is a kind of cluster with the actions of its test.
type cell struct {
	name, flavor string
	release      int
	spot, full   bool
	through      func(*life)
}

func cells() []cell {
	var all []cell
	for _, kind := range []struct{ name, flavor string }{{"machines", "windows"}, {"pools", "machinepool-windows"}} {
		for i, b := range builds {
			all = append(all, cell{name: kind.name + " " + b.release, flavor: kind.flavor, release: i,
				full: kind.name != "pools" || b.release != "2022", through: (*life).changes})
		}
		all = append(all,
			cell{name: kind.name + " repair", flavor: kind.flavor, release: 1, spot: true, full: true, through: (*life).repairs},
			cell{name: kind.name + " drain", flavor: kind.flavor, release: 1, full: true, through: (*life).drains})
	}
	return append(all,
		cell{name: "class machines", flavor: "topology-windows", release: 1, full: true, through: (*life).changes},
		cell{name: "class pools", flavor: "topology-machinepool-windows", release: 1, full: true, through: (*life).changes})
}

func TestLife(t *testing.T) {
	var rows []row
	for _, c := range cells() {
		if c.full && !*full {
			rows = append(rows, row{cell: c.name, action: "left to -full"})
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			l := &life{t: t, cell: c.name, pools: strings.Contains(c.flavor, "machinepool"),
				class: strings.HasPrefix(c.flavor, "topology"), release: c.release, spot: c.spot,
				p: plane.New(t, "WINDOWS_SERVER_VERSION=windows-"+builds[c.release].release)}
			l.p.Run(nil, "up")
			defer func() { rows = append(rows, l.rows...) }()
			defer func() { l.probe.end() }()
			l.do("create", func() { l.create(c.flavor) })
			c.through(l)
			l.do("delete", l.delete)
			l.complain()
		})
	}
	t.Log("\n" + table(rows))
}

// changes runs the changes of an operator, during which no request may be lost, and a repair.
func (l *life) changes() {
	l.keep("scale 2 to 4", func() { l.scale(4) })
	l.keep("scale 4 to 2", func() { l.scale(2) })
	l.keep("upgrade Kubernetes", l.upgradeKubernetes)
	if l.release+1 < len(builds) {
		l.keep("upgrade Windows", l.upgradeWindows)
	} else {
		l.without("upgrade Windows", "there is no later release")
	}
	if l.pools && !l.class {
		l.keep("change extensions", l.changeExtensions)
	} else {
		l.without("change extensions", "instances that do not show it are those of pools; a class changes it by its template")
	}
	l.do("repair: VM deleted", func() { l.repair(l.deleteVM) })
}

// keep runs an action during which no request may be lost.
func (l *life) keep(action string, f func()) {
	l.t.Helper()
	l.do(action, f)
	if r := l.rows[len(l.rows)-1]; r.failed > 0 {
		l.t.Errorf("%s: %d of %d requests failed: %s", action, r.failed, r.asked, r.why)
	}
}

// repairs causes the faults that Cluster API repairs without a user.
func (l *life) repairs() {
	l.checkHealth()
	l.do("VM stopped", func() { l.repair(l.stopVM) })
	l.do("kubelet stopped", func() { l.repair(l.stopKubelet) })
	l.do("VM not provisioned", l.failedVM)
	if l.pools {
		l.without("interface failed", "Azure makes a scale set's interfaces")
	} else {
		l.do("interface failed", l.failedInterface)
	}
	l.do("bootstrap never ends", l.failedBootstrap)
	l.do("evicted", func() { l.repair(l.evict) })
	l.do("evicted on schedule", l.evictLater)
}

func table(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-15s %-20s %8s %9s %7s %5s\n", "CELL", "ACTION", "TOOK", "REQUESTS", "FAILED", "PUTS")
	for _, r := range rows {
		if r.took == 0 {
			fmt.Fprintf(&b, "%-15s %-20s %8s %9s %7s %5s  %s\n", r.cell, r.action, "-", "-", "-", "-", r.why)
			continue
		}
		fmt.Fprintf(&b, "%-15s %-20s %6.1f s %9d %7d %5d  %s\n", r.cell, r.action, r.took.Seconds(), r.asked, r.failed, r.puts, r.why)
	}
	return b.String()
}

// without records an action that a cell does not have, and the reason.
func (l *life) without(action, why string) {
	l.rows = append(l.rows, row{cell: l.cell, action: action, why: "does not apply: " + why})
}

// note records a text that is printed with the current action.
func (l *life) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// do runs one action and records its duration.
func (l *life) do(action string, f func()) {
	l.t.Helper()
	if l.t.Failed() {
		l.rows = append(l.rows, row{cell: l.cell, action: action, why: "not tried, because an action before it failed"})
		return
	}
	if wanted := regexp.MustCompile(*only); !wanted.MatchString(action) && action != "create" && action != "delete" {
		l.rows = append(l.rows, row{cell: l.cell, action: action, why: "left out by -only"})
		return
	}
	puts := l.puts()
	if l.probe != nil {
		l.probe.take()
	}
	start := time.Now()
	calm := l.watch(action)
	f()
	calm.end(l, action)
	r := row{cell: l.cell, action: action, took: time.Since(start), puts: l.puts() - puts}
	if l.probe != nil {
		r.asked, r.failed, r.why = l.probe.take()
	}
	r.why, l.notes = strings.Join(append(l.notes, r.why), "; "), nil
	l.rows = append(l.rows, r)
	l.t.Logf("%s: %.1f s", action, r.took.Seconds())
}

// puts returns the number of PUTs of virtual machines and scale sets until now.
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

// patience limits every wait.
const patience = 4 * time.Minute

// until waits until f returns ""; f returns the parts that are still missing.
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
			l.showState()
			l.t.Fatalf("%s: after %s still: %s", what, patience, missing)
		case <-tick.C:
		}
	}
}

// showState logs the state of the cluster.
func (l *life) showState() {
	l.t.Helper()
	for _, args := range [][]string{
		{"tree", "demo"}, {"why", "demo"}, {"kubectl", "describe", "machines"},
		{"kubectl", "--kubeconfig", l.p.Kubeconfig("demo"), "get", "pods", "-A", "-o", "wide"},
	} {
		out, err := l.p.Try(nil, args...)
		l.t.Logf("casement %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (l *life) management(args ...string) string {
	l.t.Helper()
	return l.p.Run(nil, append([]string{"kubectl"}, args...)...)
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
