// Command bench measures casement's promises with the built binaries, and prints each figure beside
// its budget. make bench runs it, and no test: the figures depend on the machine, which it names.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// row is one figure.
type row struct {
	what, unit       string
	measured, budget float64 // a budget of zero means none
	note             string
}

func (r row) String() string {
	budget, ratio := "", ""
	if r.budget > 0 {
		budget, ratio = fmt.Sprintf("%.4g %s", r.budget, r.unit), fmt.Sprintf("%.2f", r.measured/r.budget)
	}
	return fmt.Sprintf("%-58s %12s %12s %6s  %s", r.what, fmt.Sprintf("%.4g %s", r.measured, r.unit), budget, ratio, r.note)
}

func main() {
	if os.Getenv(loadEnv) != "" {
		spin()
		return
	}
	if dir := os.Getenv(azureEnv); dir != "" {
		if err := serveAzure(dir); err != nil {
			fmt.Fprintln(os.Stderr, "bench: serve the local Azure:", err)
			os.Exit(1)
		}
		return
	}
	var b budgets
	bin := flag.String("bin", "bin", "directory of the binaries")
	flag.IntVar(&b.nodes, "nodes", 1000, "Windows nodes of the large cluster; 0 leaves it out, less all of the plane")
	flag.IntVar(&b.machines, "machines", 1000, "machines for casement-manager's memory; 0 leaves it out")
	flag.IntVar(&b.vms, "vms", 10000, "VMs of the local Azure alone; 0 leaves it out")
	flag.IntVar(&b.documents, "documents", 10000, "manifests that casement lint and kubeconform read; 0 leaves it out")
	flag.IntVar(&b.paper, "paper", 1000, "machines on paper that the commands that only read are measured with; 0 leaves it out")
	flag.DurationVar(&b.idle, "idle", time.Minute, "how long to watch an idle cluster's calls")
	kinds := flag.String("scale", "", "measure clusters of these kinds and -sizes and nothing else: deployment, pool, kwok")
	sizes := flag.String("sizes", "50,100,200,400,1000", "Windows nodes of the clusters of -scale, bare nodes of kwok")
	requests := flag.Bool("requests", false, "with -scale, list who asks what of the API servers; the audit logs for it cost time")
	rest := flag.Duration("rest", time.Minute,
		"how long to watch the idle planes of -fleet and the largest of -scale, and the manager of -manager; 0 leaves it out")
	svg := flag.String("svg", "", "file for a plot of -scale")
	clusters := flag.Int("fleet", 0, "measure so many clusters of three machines at the same time, and nothing else")
	load := flag.Int("load", 0, "processes beside the measured ones that use as much of a processor as they get")
	var alone managerBench
	flag.IntVar(&alone.machines, "manager", 0, "measure casement-manager alone with so many machines, and nothing else")
	flag.IntVar(&alone.clusters, "clusters", 1, "with -manager, clusters that the machines are in")
	flag.IntVar(&alone.pools, "pools", 0, "with -manager, pools of two instances beside the machines")
	flag.IntVar(&alone.subscriptions, "subscriptions", 1, "with -manager, subscriptions that the clusters are in")
	flag.StringVar(&alone.shards, "shards", "", "with -manager, divide the clusters between two managers: by namespace, or by filter")
	flag.IntVar(&alone.arriving, "arriving", 0, "with -manager, clusters, pools and machines that are made a second; 0 makes all at once")
	flag.IntVar(&alone.roll, "roll", 0, "with -manager, machines to replace")
	flag.IntVar(&alone.speed, "day", 0, "with -manager, an idle day, so many times as fast")
	flag.Float64Var(&alone.throttle, "throttle", 0, "with -manager, how strictly Azure limits requests: 1 as it does, 0 not at all")
	flag.DurationVar(&alone.outage, "outage", 0, "with -manager, how long all calls fail")
	flag.Parse()
	measure := b.measure
	switch {
	case alone.machines > 0:
		alone.rest = *rest
		measure = func(bin, _ string) error {
			heads()
			return alone.measure(show, bin)
		}
	case *kinds != "":
		s, err := parseScale(*kinds, *sizes, *svg, *rest)
		if err != nil {
			fail(err)
		}
		s.requests = *requests
		measure = s.measure
	case *clusters > 0:
		measure = fleet{*clusters, *rest}.measure
	}
	if err := onThisMachine(*bin, *load, measure); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// onThisMachine prints the name of the machine and runs a measurement with a folder for its files.
func onThisMachine(bin string, load int, measure func(bin, home string) error) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "cb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	stop, err := startLoad(load)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("machine: %d cores, %s, %s, %s", runtime.NumCPU(), memory(), cpu(), runtime.Version())
	if load > 0 {
		fmt.Printf(", beside %d processes that each use a processor", load)
	}
	fmt.Print("\n\n")
	return measure(bin, home)
}

// heads prints the heading of a table of rows.
func heads() { fmt.Printf("%-58s %12s %12s %6s\n", "WHAT", "MEASURED", "BUDGET", "RATIO") }

func show(r row) { fmt.Println(r) }

// budgets contains the numbers of objects of the measurements that have a budget.
type budgets struct {
	nodes, machines, vms, documents, paper int
	idle                                   time.Duration
}

func (b budgets) measure(bin, home string) error {
	heads()
	if b.documents > 0 {
		if err := lintBench(show, bin, home, b.documents); err != nil {
			return err
		}
		if err := corpusBench(show, bin, home); err != nil {
			return err
		}
	}
	if b.vms > 0 {
		if err := azureLoad(show, home, b.vms); err != nil {
			return err
		}
	}
	p := &plane{bin: bin, home: filepath.Join(home, "p"), files: home}
	defer p.casement(nil, "down", "--purge")
	if b.paper > 0 {
		if err := p.onPaper(show, b.paper); err != nil {
			return err
		}
	}
	if b.nodes < 0 {
		return nil
	}
	if err := p.small(show, b.idle); err != nil {
		return err
	}
	if b.nodes > 0 {
		if err := p.booting(show, min(b.nodes, 100)); err != nil {
			return err
		}
		if err := p.large(show, b.nodes); err != nil {
			return err
		}
	}
	if _, err := p.casement(nil, "down", "--purge"); err != nil {
		return err
	}
	if b.machines > 0 {
		return managerBench{machines: b.machines}.measure(show, bin)
	}
	return nil
}

func memory() string {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "unknown memory"
	}
	fields := strings.Fields(string(data))
	kib, _ := strconv.Atoi(fields[1])
	return fmt.Sprintf("%d MiB", kib/1024)
}

func cpu() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// resident returns the proportional set size of a process and its descendants, in bytes: shared
// pages count only once.
func resident(pid int) (total float64) {
	for _, id := range tree(pid) {
		total += share(id)
	}
	return total
}

// share returns the proportional set size of one process, in bytes; 0 if it has ended.
func share(pid int) (total float64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "Pss:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			total += kib * 1024
		}
	}
	return total
}

func tree(pid int) []int {
	all := []int{pid}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range threads {
		data, _ := os.ReadFile(file)
		for _, child := range strings.Fields(string(data)) {
			if id, err := strconv.Atoi(child); err == nil {
				all = append(all, tree(id)...)
			}
		}
	}
	return all
}
