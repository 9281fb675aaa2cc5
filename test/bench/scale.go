package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/process"
)

// scale contains the settings of the scale benchmark.
type scale struct {
	kinds []string
	sizes []int
	rest  time.Duration
	svg   string
	// requests makes the benchmark count the requests to the management API by user, which needs
	// processor time.
	requests bool
}

// kwok is the kind of nodes that are simulated by the program kwok.
const kwok = "kwok"

// flavorOf maps a kind of worker nodes to the flavor of its cluster.
var flavorOf = map[string]string{"deployment": "windows", "pool": "machinepool-windows"}

// limitOf maps a kind to the parts of a node that its figures do not include.
var limitOf = map[string]string{kwok: " (bare nodes: no Machine, VM, boot, join, pods or controller manager)"}

// parseScale parses the flags of the scale benchmark.
func parseScale(kinds, sizes, svg string, rest time.Duration) (scale, error) {
	s := scale{kinds: strings.Split(kinds, ","), rest: rest, svg: svg}
	for _, kind := range s.kinds {
		if flavorOf[kind] == "" && kind != kwok {
			return s, fmt.Errorf("-scale is deployment, pool, kwok or some of them, not %q", kind)
		}
	}
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return s, fmt.Errorf("-sizes are numbers of nodes, not %q", size)
		}
		s.sizes = append(s.sizes, n)
	}
	return s, nil
}

// point is the cost of a number of nodes, from the creation of their template until all are ready.
// Times are CPU seconds, because elapsed time depends on other work of the machine.
type point struct {
	kind  string
	nodes int
	// cpu contains the seconds by process.
	cpu map[string]float64
	// memory contains the MiB by process.
	memory map[string]float64
	// apis contains the requests of each API server.
	apis []answered
	// rest is the processor usage afterwards, in per cent of one core.
	rest float64
	// peer is the average cost of a bare node of kwok immediately before and after, in seconds; 0
	// without kwok.
	peer float64
}

// peerNodes is the number of bare nodes that are measured with each size.
const peerNodes = 1000

// answered contains the requests of an API server, by verb.
type answered struct {
	api    string
	byVerb map[string]float64
	// asked contains the requests by client, with -requests.
	asked map[string]float64
	// untilReady is the result of the function untilReady; 0 for a management API server.
	untilReady float64
}

func (p point) total() float64 { return sum(p.cpu) }

func sum(all map[string]float64) (total float64) {
	for _, n := range all {
		total += n
	}
	return total
}

// measure creates a plane and a cluster for each kind and size, one after another.
func (s scale) measure(bin, home string) error {
	if err := s.leaveOutKwok(bin); err != nil {
		return err
	}
	var all []point
	before, err := s.beside(bin, home)
	if err != nil {
		return err
	}
	for _, kind := range s.kinds {
		for _, size := range s.sizes {
			at := s
			if size < slices.Max(s.sizes) {
				at.rest = 0
			}
			measured, err := at.one(bin, home, kind, size)
			if err != nil {
				return fmt.Errorf("%d nodes by %s: %w", size, kind, err)
			}
			if kind != kwok {
				after, err := s.beside(bin, home)
				if err != nil {
					return err
				}
				measured.peer, before = (before+after)/2, after
			}
			measured.print()
			all = append(all, measured)
		}
	}
	for _, kind := range s.kinds {
		fmt.Println(fit(kind, of(all, kind)))
	}
	if s.svg == "" {
		return nil
	}
	return os.WriteFile(s.svg, plot(s.kinds, all), 0o644)
}

// beside returns the current cost of a bare node of kwok, in seconds, because the speed of a shared
// machine changes within minutes. It is 0 if only kwok, or no kwok, is measured.
func (s scale) beside(bin, home string) (float64, error) {
	if !slices.Contains(s.kinds, kwok) || len(s.kinds) == 1 {
		return 0, nil
	}
	s.rest, s.requests = 0, false
	measured, err := s.bare(context.Background(), bin, filepath.Join(home, "peer"), peerNodes)
	if err != nil {
		return 0, fmt.Errorf("%d bare nodes of kwok: %w", peerNodes, err)
	}
	return measured.total() / peerNodes, os.RemoveAll(filepath.Join(home, "peer"))
}

// one measures a number of nodes of a kind on a new plane.
func (s scale) one(bin, home, kind string, size int) (point, error) {
	if kind == kwok {
		return s.bare(context.Background(), bin, filepath.Join(home, fmt.Sprint(kind, size)), size)
	}
	p := &plane{bin: bin, home: filepath.Join(home, fmt.Sprint(kind[:1], size)), files: home}
	measured, err := s.cluster(p, kind, size)
	if _, downErr := p.casement(nil, "down", "--purge"); err == nil {
		err = downErr
	}
	return measured, err
}

// cluster measures a cluster on a new plane.
func (s scale) cluster(p *plane, kind string, size int) (point, error) {
	at := point{kind: kind, nodes: size}
	up := []string{"up", "--timeout", "10m"}
	pools := 1
	if kind == "pool" {
		var err error
		if pools, err = poolsFor(size); err != nil {
			return at, err
		}
	}
	if s.requests {
		up = append(up, "--audit=all")
	}
	p.change = func(manifest []byte) ([]byte, error) {
		if s.requests {
			var err error
			if manifest, err = audited(manifest); err != nil {
				return nil, err
			}
		}
		return repeatPool(manifest, pools)
	}
	if err := p.all(up); err != nil {
		return at, err
	}
	pid, err := p.pid()
	if err != nil {
		return at, err
	}
	m := &meter{pids: []int{pid}, api: "management API", metrics: func() ([]byte, error) { return p.metrics() },
		audit: filepath.Join(p.home, "management", "log", "audit.log")}
	if err := m.begin(); err != nil {
		return at, err
	}
	if err := p.create("scale", flavorOf[kind], size/pools, "120m"); err != nil {
		return at, err
	}
	if err := m.end(&at); err != nil {
		return at, err
	}
	kubeconfig, err := p.casement(nil, "get", "kubeconfig", "scale")
	if err != nil {
		return at, err
	}
	file := filepath.Join(p.files, "scale.kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		return at, err
	}
	text, err := p.metrics("--kubeconfig", file)
	if err != nil {
		return at, err
	}
	workload := answered{api: "workload API"}
	if workload.byVerb, err = requests(text); err != nil {
		return at, err
	}
	if s.requests {
		log, err := guestAudit(p.home)
		if err != nil {
			return at, err
		}
		if workload.asked, err = asked(log, 0); err != nil {
			return at, err
		}
		if workload.untilReady, err = untilReady(log); err != nil {
			return at, err
		}
	}
	at.apis = append(at.apis, workload)
	at.rest = s.idle(pid)
	return at, nil
}

// idle returns the usage of processes while nothing happens, in per cent of one core.
func (s scale) idle(pids ...int) float64 {
	if s.rest == 0 {
		return 0
	}
	time.Sleep(s.rest / 4) // waits until work from the start has ended
	begun, idle := time.Now(), processes(pids...)
	time.Sleep(s.rest) // the activity in this time is measured
	return 100 * point{cpu: less(processes(pids...), idle)}.total() / time.Since(begun).Seconds()
}

// meter measures the cost of processes and the requests to one API server between two moments.
type meter struct {
	pids []int
	// api is the name of the API server; metrics returns its metrics.
	api     string
	metrics func() ([]byte, error)
	// audit is the path of its audit log; the file may be missing.
	audit string

	cpu, requests map[string]float64
	noted         int64
}

// begin records the figures at the start. Reading the number of requests is not part of the cost.
func (m *meter) begin() error {
	text, err := m.metrics()
	if err != nil {
		return err
	}
	if m.requests, err = requests(text); err != nil {
		return err
	}
	if info, err := os.Stat(m.audit); err == nil {
		m.noted = info.Size()
	}
	m.cpu = processes(m.pids...)
	return nil
}

// end adds the figures since begin to a point.
func (m *meter) end(at *point) error {
	at.cpu = less(processes(m.pids...), m.cpu)
	at.memory = byProgram(func(id int) float64 { return share(id) / (1 << 20) }, m.pids...)
	text, err := m.metrics()
	if err != nil {
		return err
	}
	now, err := requests(text)
	if err != nil {
		return err
	}
	noted, err := asked(m.audit, m.noted)
	at.apis = append(at.apis, answered{api: m.api, byVerb: less(now, m.requests), asked: noted})
	return err
}

// processes returns the CPU seconds of processes and their descendants, by program.
func processes(pids ...int) map[string]float64 {
	return byProgram(func(id int) float64 { return process.CPU(id).Seconds() }, pids...)
}

// byProgram sums a figure of processes and their descendants, by program.
func byProgram(of func(pid int) float64, pids ...int) map[string]float64 {
	var all []int
	for _, pid := range pids {
		all = append(all, tree(pid)...)
	}
	out := map[string]float64{}
	for _, id := range all {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id))
		if err != nil {
			continue // the process has ended
		}
		program, _, _ := strings.Cut(string(args), "\x00")
		name := filepath.Base(program)
		if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", id)); err == nil && filepath.Base(dir) == "management" {
			name += " of the management plane"
		}
		out[name] += of(id)
	}
	return out
}

func less(after, before map[string]float64) map[string]float64 {
	out := maps.Clone(after)
	for name, value := range before {
		out[name] -= value
	}
	maps.DeleteFunc(out, func(_ string, value float64) bool { return value <= 0 })
	return out
}

func (p point) print() {
	n := float64(p.nodes)
	fmt.Printf("%d nodes by %s%s: %.2f s of a processor, %.3g a node; %.0f MiB", p.nodes, p.kind, limitOf[p.kind],
		p.total(), p.total()/n, sum(p.memory))
	if p.peer > 0 {
		fmt.Printf("; a node costs %.0f bare nodes of kwok (%.2g s each, measured before and after)", p.total()/n/p.peer, p.peer)
	}
	if p.rest > 0 {
		fmt.Printf("; idle %.1f %% of a core", p.rest)
	}
	fmt.Println()
	p.printPart("processor", "s", p.cpu)
	p.printPart("memory", "MiB", p.memory)
	for _, api := range p.apis {
		p.printPart(api.api, "", api.byVerb)
	}
	for _, api := range p.apis {
		api.print(os.Stdout, p.nodes)
	}
	fmt.Println()
}

func (p point) printPart(what, unit string, values map[string]float64) {
	digits := 1
	if unit == "s" {
		digits = 2 // hundredths, the kernel's resolution
	}
	for _, name := range byValue(values) {
		fmt.Printf("  %-16s %-44s %10.*f %-3s %8.*f a node\n", what, name, digits, values[name], unit,
			2*digits, values[name]/float64(p.nodes))
	}
}

// byValue returns the names sorted by their values, the greatest first.
func byValue(values map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
}

func of(all []point, kind string) []point {
	return slices.DeleteFunc(slices.Clone(all), func(p point) bool { return p.kind != kind })
}
