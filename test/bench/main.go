// Command bench measures what casement promises with the built
// binaries, and prints each figure beside its budget. It is run by make bench and
// never by a test: figures are of the machine that it names.
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
	measured, budget float64 // no budget when zero
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
	bin := flag.String("bin", "bin", "directory of the binaries")
	nodes := flag.Int("nodes", 1000, "Windows nodes of the large cluster; 0 leaves it out, less all of the plane")
	machines := flag.Int("machines", 1000, "machines for casement-manager's memory; 0 leaves it out")
	vms := flag.Int("vms", 10000, "VMs of the local Azure alone; 0 leaves it out")
	documents := flag.Int("documents", 10000, "manifests that casement lint and kubeconform read; 0 leaves it out")
	paper := flag.Int("paper", 1000, "machines on paper that the commands that only read are measured with; 0 leaves it out")
	idle := flag.Duration("idle", time.Minute, "how long to watch an idle cluster's calls")
	kinds := flag.String("scale", "", "measure clusters of these kinds and -sizes and nothing else: deployment, pool, kwok")
	sizes := flag.String("sizes", "50,100,200,400,1000", "Windows nodes of the clusters of -scale, bare nodes of kwok")
	requests := flag.Bool("requests", false, "with -scale, list who asks what of the management API; the audit log for it costs time")
	rest := flag.Duration("rest", time.Minute, "how long to watch the idle planes of -scale with the most nodes; 0 leaves it out")
	svg := flag.String("svg", "", "file for a plot of -scale")
	flag.Parse()
	if dir := os.Getenv(azureEnv); dir != "" {
		if err := serveAzure(dir); err != nil {
			fmt.Fprintln(os.Stderr, "bench: serve the local Azure:", err)
			os.Exit(1)
		}
		return
	}
	if *kinds != "" {
		if err := runScale(*bin, *kinds, *sizes, *svg, *rest, *requests); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*bin, *nodes, *machines, *vms, *documents, *paper, *idle); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runScale(bin, kinds, sizes, svg string, rest time.Duration, requests bool) error {
	s, err := parseScale(kinds, sizes, svg, rest)
	if err != nil {
		return err
	}
	s.requests = requests
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "cb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	fmt.Printf("machine: %d cores, %s, %s, %s\n\n", runtime.NumCPU(), memory(), cpu(), runtime.Version())
	return s.measure(bin, home)
}

func run(bin string, nodes, machines, vms, documents, paper int, idle time.Duration) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "cb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	fmt.Printf("machine: %d cores, %s, %s, %s\n\n", runtime.NumCPU(), memory(), cpu(), runtime.Version())
	fmt.Printf("%-58s %12s %12s %6s\n", "WHAT", "MEASURED", "BUDGET", "RATIO")
	show := func(r row) { fmt.Println(r) }
	if documents > 0 {
		if err := lintBench(show, bin, home, documents); err != nil {
			return err
		}
		if err := corpusBench(show, bin, home); err != nil {
			return err
		}
	}
	if vms > 0 {
		if err := azureLoad(show, home, vms); err != nil {
			return err
		}
	}
	p := &plane{bin: bin, home: filepath.Join(home, "p"), files: home}
	defer p.casement(nil, "down", "--purge")
	if paper > 0 {
		if err := p.onPaper(show, paper); err != nil {
			return err
		}
	}
	if nodes < 0 {
		return nil
	}
	if err := p.small(show, idle); err != nil {
		return err
	}
	if nodes > 0 {
		if err := p.large(show, nodes); err != nil {
			return err
		}
	}
	if _, err := p.casement(nil, "down", "--purge"); err != nil {
		return err
	}
	if machines > 0 {
		return managerMemory(show, bin, machines)
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

// resident returns the proportional set size of a process and its descendants, in bytes:
// pages that several share count once.
func resident(pid int) (total float64) {
	for _, id := range tree(pid) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", id))
		if err != nil {
			continue // it has ended
		}
		for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
			if rest, ok := strings.CutPrefix(s.Text(), "Pss:"); ok {
				kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				total += kib * 1024
			}
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
