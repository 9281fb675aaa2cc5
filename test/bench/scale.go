package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"casement.dev/casement/internal/process"
)

// scale is what clusters of several sizes are to be measured with.
type scale struct {
	kinds []string
	sizes []int
	rest  time.Duration
	svg   string
}

// flavorOf is the flavor of a kind of worker nodes.
var flavorOf = map[string]string{"deployment": "windows", "pool": "machinepool-windows"}

// parseScale reads what the command line says.
func parseScale(kinds, sizes, svg string, rest time.Duration) (scale, error) {
	s := scale{kinds: strings.Split(kinds, ","), rest: rest, svg: svg}
	for _, kind := range s.kinds {
		if flavorOf[kind] == "" {
			return s, fmt.Errorf("-scale is deployment, pool or both, not %q", kind)
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

// point is the cost of one cluster, from its template until all its nodes were ready. Times
// are CPU seconds, because wall time depends on what else runs.
type point struct {
	kind  string
	nodes int
	// cpu are seconds by process.
	cpu map[string]float64
	// memory is of all processes, in bytes.
	memory float64
	// management and workload are requests of the two API servers, by verb.
	management, workload map[string]float64
	// rest is the plane's processor use after that, in per cent of one core.
	rest float64
}

func (p point) total() (seconds float64) {
	for _, s := range p.cpu {
		seconds += s
	}
	return seconds
}

// measure makes a plane and a cluster of each kind and size, one after the other.
func (s scale) measure(bin, home string) error {
	var all []point
	for _, kind := range s.kinds {
		for _, size := range s.sizes {
			p := &plane{bin: bin, home: filepath.Join(home, fmt.Sprint(kind[:1], size)), files: home}
			measured, err := s.one(p, kind, size)
			if _, downErr := p.casement(nil, "down", "--purge"); err == nil {
				err = downErr
			}
			if err != nil {
				return fmt.Errorf("%d nodes by %s: %w", size, kind, err)
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

// one measures a cluster on a new plane.
func (s scale) one(p *plane, kind string, size int) (point, error) {
	at := point{kind: kind, nodes: size}
	if err := p.all([]string{"up", "--timeout", "10m"}); err != nil {
		return at, err
	}
	pid, err := p.pid()
	if err != nil {
		return at, err
	}
	before := processes(pid)
	earlier, err := p.requests()
	if err != nil {
		return at, err
	}
	if err := p.create("scale", flavorOf[kind], size, "120m"); err != nil {
		return at, err
	}
	after := processes(pid)
	at.cpu, at.memory = less(after, before), resident(pid)
	if at.management, err = p.requests(); err != nil {
		return at, err
	}
	at.management = less(at.management, earlier)
	kubeconfig, err := p.casement(nil, "get", "kubeconfig", "scale")
	if err != nil {
		return at, err
	}
	file := filepath.Join(p.files, "scale.kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		return at, err
	}
	if at.workload, err = p.requests("--kubeconfig", file); err != nil {
		return at, err
	}
	if s.rest > 0 {
		time.Sleep(s.rest / 4) // what the start left behind ends
		begun, idle := time.Now(), processes(pid)
		time.Sleep(s.rest) // the figure is what happens in that time
		at.rest = 100 * point{cpu: less(processes(pid), idle)}.total() / time.Since(begun).Seconds()
	}
	return at, nil
}

// processes returns the seconds that a process and its descendants have used, by program.
func processes(pid int) map[string]float64 {
	out := map[string]float64{}
	for _, id := range tree(pid) {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id))
		if err != nil {
			continue // it has ended
		}
		program, _, _ := strings.Cut(string(args), "\x00")
		name := filepath.Base(program)
		if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", id)); err == nil && filepath.Base(dir) == "management" {
			name += " of the management plane"
		}
		out[name] += process.CPU(id).Seconds()
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

// requests returns how many requests an API server has answered, by verb, and how many it
// sent itself.
func (p *plane) requests(args ...string) (map[string]float64, error) {
	text, err := p.casement(nil, append([]string{"kubectl", "get", "--raw", "/metrics"}, args...)...)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	out := map[string]float64{}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		out[label(m, "verb")] += m.GetCounter().GetValue()
	}
	for _, m := range families["apiserver_admission_webhook_request_total"].GetMetric() {
		out["(webhook)"] += m.GetCounter().GetValue()
	}
	for _, m := range families["apiserver_crd_conversion_webhook_duration_seconds"].GetMetric() {
		out["(conversion)"] += float64(m.GetHistogram().GetSampleCount())
	}
	return out, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func (p point) print() {
	n := float64(p.nodes)
	fmt.Printf("%d nodes by %s: %.1f s of a processor, %.2f a node; %.0f MiB", p.nodes, p.kind, p.total(), p.total()/n, p.memory/(1<<20))
	if p.rest > 0 {
		fmt.Printf("; idle %.1f %% of a core", p.rest)
	}
	fmt.Println()
	for _, part := range []struct {
		what, unit string
		values     map[string]float64
	}{{"processor", "s", p.cpu}, {"management API", "", p.management}, {"workload API", "", p.workload}} {
		for _, name := range byValue(part.values) {
			fmt.Printf("  %-16s %-44s %10.1f %-2s %8.2f a node\n", part.what, name, part.values[name], part.unit, part.values[name]/n)
		}
	}
	fmt.Println()
}

// byValue returns the names in the order of their values, the greatest first.
func byValue(values map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
}

func of(all []point, kind string) []point {
	return slices.DeleteFunc(slices.Clone(all), func(p point) bool { return p.kind != kind })
}
