package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// fleetTime is the longest time that all clusters of a fleet may need; the budget is less.
const fleetTime = 2 * time.Hour

// fleet is the measurement of clusters that one plane creates at the same time, each with a control
// plane machine, a Linux machine and a Windows machine.
type fleet struct {
	clusters int
	// rest is the time for which the idle clusters are watched afterwards.
	rest time.Duration
}

func (f fleet) measure(bin, home string) (err error) {
	heads()
	p := &plane{bin: bin, home: filepath.Join(home, "p"), files: home}
	defer func() {
		if _, downErr := p.casement(nil, "down", "--purge"); err == nil {
			err = downErr
		}
	}()
	if err := p.all([]string{"up"}); err != nil {
		return err
	}
	pid, err := p.pid()
	if err != nil {
		return err
	}
	p.env = []string{"WINDOWS_WORKER_MACHINE_COUNT=1"}
	var names, manifests []string
	for i := range f.clusters {
		names = append(names, fmt.Sprintf("fleet-%02d", i+1))
		manifest, err := p.casement(nil, "generate", "cluster", names[i], "--flavor", "windows")
		if err != nil {
			return err
		}
		manifests = append(manifests, string(manifest))
	}
	before, start := processes(pid), time.Now()
	if _, err := p.casement([]byte(strings.Join(manifests, "\n---\n")), "kubectl", "apply", "-f", "-"); err != nil {
		return err
	}
	for i, name := range names {
		left := fleetTime - time.Since(start)
		if _, err := p.casement(nil, "wait", name, "--timeout", left.String()); err != nil {
			return fmt.Errorf("%d of %d clusters were ready: %w", i, f.clusters, err)
		}
	}
	took := time.Since(start).Minutes()
	used := point{cpu: less(processes(pid), before)}.total()
	show(row{what: fmt.Sprintf("%d clusters of 1 + 1 + 1 machines ready", f.clusters), unit: "min", measured: took, budget: 20})
	show(row{what: "processor time of the plane for them", unit: "s", measured: used,
		note: fmt.Sprintf("%.3g s a cluster", used/float64(f.clusters))})
	show(row{what: "memory of the plane with them", unit: "MiB", measured: resident(pid) / (1 << 20)})
	show(row{what: "what they use while idle, of one core", unit: "%", measured: scale{rest: f.rest}.idle(pid)})
	return nil
}
