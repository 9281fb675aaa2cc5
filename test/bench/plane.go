package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// plane runs casement with home as its state directory. Files of the benchmark are in the folder
// files, because up refuses a state directory with other files, and down keeps it.
type plane struct {
	bin, home, files string
	env              []string
	// change edits the manifests of clusters before they are applied; it may be nil.
	change func(manifest []byte) ([]byte, error)
	// cpu is the processor time of the last command.
	cpu time.Duration
}

func (p *plane) casement(stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.Command(filepath.Join(p.bin, "casement"), args...)
	cmd.Env = append(append(os.Environ(), "CASEMENT_HOME="+p.home, "KUBECONFIG="), p.env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	p.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil {
		return nil, fmt.Errorf("casement %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return out, nil
}

// all runs commands in order until one fails.
func (p *plane) all(commands ...[]string) error {
	for _, args := range commands {
		if _, err := p.casement(nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// create applies a flavor with a number of Windows nodes and waits until everything is ready.
func (p *plane) create(name, flavor string, windows int, timeout string) error {
	p.env = []string{fmt.Sprintf("WINDOWS_WORKER_MACHINE_COUNT=%d", windows)}
	manifest, err := p.casement(nil, "generate", "cluster", name, "--flavor", flavor)
	if err != nil {
		return err
	}
	if p.change != nil {
		if manifest, err = p.change(manifest); err != nil {
			return err
		}
	}
	if _, err := p.casement(manifest, "kubectl", "apply", "-f", "-"); err != nil {
		return err
	}
	_, err = p.casement(nil, "wait", name, "--timeout", timeout)
	return err
}

func (p *plane) pid() (int, error) {
	var s struct{ PID int }
	out, err := p.casement(nil, "status", "-o", "json")
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	return s.PID, err
}

// calls returns the number of requests of casement's own controllers to the local Azure.
func (p *plane) calls() (reads, puts int, err error) {
	var log struct {
		Counters []struct {
			Verb, Type, Caller string
			Count              int
		}
	}
	out, err := p.casement(nil, "calls", "-o", "json")
	if err == nil {
		err = json.Unmarshal(out, &log)
	}
	for _, c := range log.Counters {
		switch {
		case c.Caller != "casement" || c.Type == "operations":
		case c.Verb == "PUT":
			puts += c.Count
		case c.Verb == "GET":
			reads += c.Count
		}
	}
	return reads, puts, err
}

// small measures the start of the plane, and for the small cluster that the budgets are set for: its creation, the calls
// to ARM, the memory, and its deletion.
func (p *plane) small(show func(row), idle time.Duration) error {
	start := time.Now()
	if err := p.all([]string{"up"}); err != nil {
		return err
	}
	show(row{what: "casement up, from nothing", unit: "s", measured: time.Since(start).Seconds(), budget: 4})
	start = time.Now()
	if err := p.create("small", "windows", 2, "20m"); err != nil {
		return err
	}
	show(row{what: "template to Ready: 1 control plane, 1 Linux, 2 Windows", unit: "s", measured: time.Since(start).Seconds(), budget: 12})
	if err := p.why(show, "small", "idle"); err != nil {
		return err
	}
	pid, err := p.pid()
	if err != nil {
		return err
	}
	show(row{what: "memory of the plane with that cluster", unit: "MiB", measured: resident(pid) / (1 << 20)})
	reads, puts, err := p.calls()
	if err != nil {
		return err
	}
	// Resource group, virtual network, two security groups, route table, NAT gateway with its
	// address, load balancer with its address, and the key vault of the bootstrap secrets; a NAT
	// rule for the control plane machine. For each machine: NIC and VM, the identity that reads its
	// bootstrap secret, that identity's role assignment, and the secret, which is written in the
	// vault itself.
	const resources = 10 + 1 + 5*4
	show(row{what: "ARM PUTs to create it", unit: "calls", measured: float64(puts), budget: resources, note: "one per resource"})
	time.Sleep(idle) // the activity in this time is measured
	after, _, err := p.calls()
	if err != nil {
		return err
	}
	show(row{what: "ARM reads per hour, idle, 4 machines", unit: "calls",
		measured: float64(after-reads) * float64(time.Hour) / float64(idle)})
	start = time.Now()
	if err := p.all([]string{"kubectl", "delete", "cluster", "small", "--wait=false"},
		[]string{"wait", "small", "--for", "deleted"}); err != nil {
		return err
	}
	show(row{what: "delete of the cluster", unit: "s", measured: time.Since(start).Seconds()})
	left, err := filepath.Glob(filepath.Join(p.home, "vms", "*", "*"))
	show(row{what: "directories of VMs left after it", unit: "dirs", measured: float64(len(left))})
	return err
}

// why measures the diagnosis of a cluster beside a list of all machines, as the median of several
// runs of each.
func (p *plane) why(show func(row), cluster, state string) error {
	times := map[string][]float64{}
	for range 7 {
		for name, args := range map[string][]string{"why": {"why", cluster}, "list": {"kubectl", "get", "machines", "-A"}} {
			start := time.Now()
			if _, err := p.casement(nil, args...); err != nil && name == "list" {
				return err // a failing exit code of why is a valid result
			}
			times[name] = append(times[name], time.Since(start).Seconds())
		}
	}
	for _, all := range times {
		slices.Sort(all)
	}
	why, list := times["why"][3], times["list"][3]
	show(row{what: "casement why, " + state, unit: "s", measured: why, budget: 3})
	show(row{what: "casement why / kubectl get machines -A, " + state, unit: "", measured: why / list, budget: 1.5})
	return nil
}

// booting measures the diagnosis of a cluster of many machines that are booting. It deletes the
// cluster afterwards.
func (p *plane) booting(show func(row), nodes int) error {
	p.env = []string{fmt.Sprintf("WINDOWS_WORKER_MACHINE_COUNT=%d", nodes)}
	manifest, err := p.casement(nil, "generate", "cluster", "booting", "--flavor", "windows")
	if err != nil {
		return err
	}
	if _, err := p.casement(manifest, "kubectl", "apply", "-f", "-"); err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Minute); ; time.Sleep(time.Second) {
		out, err := p.casement(nil, "kubectl", "get", "azuremachines", "-o", "name")
		if err != nil {
			return err
		}
		if bytes.Count(out, []byte("\n")) > nodes {
			break
		}
		if time.Now().After(end) {
			return errors.New("the machines are not made")
		}
	}
	if err := p.why(show, "booting", fmt.Sprintf("%d machines boot", nodes)); err != nil {
		return err
	}
	return p.all([]string{"kubectl", "delete", "cluster", "booting", "--wait=false"},
		[]string{"wait", "booting", "--for", "deleted", "--timeout", "30m"})
}

// large measures a cluster of many Windows nodes.
func (p *plane) large(show func(row), nodes int) error {
	start := time.Now()
	if err := p.create("large", "windows", nodes, "60m"); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	pid, err := p.pid()
	if err != nil {
		return err
	}
	show(row{what: fmt.Sprintf("%d Windows nodes Ready", nodes), unit: "s", measured: took, budget: 240})
	show(row{what: "memory of the plane with them", unit: "MiB", measured: resident(pid) / (1 << 20), budget: 8192})
	return p.observe(show, "default", "large")
}

// observe measures the read-only commands for a cluster and for one of its Windows machines, and
// the size of their output. A command whose exit code reports problems is measured too.
func (p *plane) observe(show func(row), namespace, cluster string) error {
	out, err := p.casement(nil, "kubectl", "get", "machines", "-n", namespace, "-l",
		"cluster.x-k8s.io/deployment-name="+cluster+"-md-win", "-o", "jsonpath={.items[0].metadata.name}")
	if err != nil {
		return err
	}
	machine, of := string(out), []string{"-n", namespace}
	for _, args := range [][]string{
		{"status"}, {"get", "clusters"}, {"tree", cluster}, {"wait", cluster, "--timeout", "1s"}, {"why", cluster},
		{"why", machine}, {"doctor", cluster}, {"doctor", machine}, {"timeline", machine},
		{"logs", machine}, {"ssh", machine, "--", "hostname"}, {"calls"}, {"azure", "resources"}, {"azure", "log"},
		{"azure", "faults", "list"}, {"support", cluster, "--file", filepath.Join(p.files, cluster+".tgz")},
	} {
		what := strings.ReplaceAll(strings.Join(args[:min(2, len(args))], " "), machine, "MACHINE")
		if slices.Contains(args, cluster) || slices.Contains(args, machine) {
			args = slices.Insert(slices.Clone(args), 1, of...)
		}
		start := time.Now()
		out, err := p.casement(nil, args...)
		took := time.Since(start).Seconds()
		note := fmt.Sprintf("%d lines, %.2f s of a core", bytes.Count(out, []byte("\n")), p.cpu.Seconds())
		if err != nil {
			note = strings.TrimSpace(err.Error())
			note = "exit code not 0: " + note[max(0, len(note)-60):]
		}
		budget := 2.0
		if args[0] == "support" {
			budget = 0 // this command writes
		}
		show(row{what: "casement " + what, unit: "s", measured: took, budget: budget, note: note})
	}
	return nil
}
