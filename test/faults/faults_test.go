package faults

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/test/plane"
)

var (
	full = flag.Bool("full", false, "every fault; otherwise one of each kind")
	only = flag.String("only", "", "the faults whose names hold this")
)

// answer is the part of why's answer that is compared.
type answer struct {
	Healthy   bool
	At, Cause string
	Evidence  []string
}

// patience bounds the way of a fault to its symptom, and back.
const patience = 2 * time.Minute

// TestFaults brings the faults about one after another, and lets each be healed
// before the next.
func TestFaults(t *testing.T) {
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1", "SSH_AUTH_SOCK=")
	p.Run(nil, "up")
	p.Create("demo", "windows")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	s := &scene{plane: p, workload: p.Workload("demo"), set: "demo-md-win"}
	p.Run([]byte(deployment), "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "apply", "-f", "-")
	first := s.machines()[0]
	var rows strings.Builder
	defer func() { t.Logf("faults and answers:\n%s", rows.String()) }()
	for _, f := range table() {
		if !*full && !f.fast || !strings.Contains(f.name, *only) {
			continue
		}
		if last, ok := s.ask(func(a answer) bool { return a.Healthy }); !ok {
			t.Fatalf("before %q the cluster is not well: %+v", f.name, last)
		}
		s.bring(f)
		begun := time.Now()
		got, ok := s.ask(func(a answer) bool {
			return a.Cause == f.cause && strings.HasPrefix(a.At, f.at) && strings.Contains(strings.Join(a.Evidence, "\n"), f.evidence)
		})
		fmt.Fprintf(&rows, "%-32s %-22s %-44s %4.0fs\n", f.name, got.Cause, got.At, time.Since(begun).Seconds())
		if !ok {
			t.Errorf("%s: why says %+v, want %s at %s", f.name, got, f.cause, f.at)
		}
		s.mend(f, first)
	}
}

// bring brings a fault about.
func (s *scene) bring(f fault) {
	if len(f.rule) > 0 {
		s.plane.Run(nil, append([]string{"azure", "faults", "add"}, f.rule...)...)
	}
	if f.inject != nil {
		f.inject(s)
	}
	if f.machine {
		s.grow()
	}
	if f.pod {
		s.again()
	}
}

// mend undoes what bring did.
func (s *scene) mend(f fault, first string) {
	s.plane.Run(nil, "azure", "faults", "clear")
	if f.heal != nil {
		f.heal(s)
	}
	if f.machine {
		s.shrink(first)
	}
	if f.pod {
		s.again()
	}
}

// ask asks why until the answer is right, and returns the last one.
func (s *scene) ask(right func(answer) bool) (answer, bool) {
	var a answer
	for deadline := time.Now().Add(patience); ; {
		a = answer{}
		// The exit code tells a healthy cluster from another; the answer does too.
		out, err := s.plane.Try(nil, "why", "demo", "-o", "json")
		if err != nil {
			_, out, _ = strings.Cut(err.Error(), "\n")
		}
		if json.Unmarshal([]byte(out), &a) == nil && right(a) {
			return a, true
		}
		if time.Now().After(deadline) {
			return a, false
		}
		<-time.After(time.Second)
	}
}
