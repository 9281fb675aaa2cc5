package faults

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	full = flag.Bool("full", false, "every fault; otherwise one of each kind")
	only = flag.String("only", "", "the faults whose names hold this")
)

// answer is the part of why's answer that is compared.
type answer struct {
	Healthy bool
	Waiting bool
	At      string
	Means   struct{ Cause string }
	Seen    []struct{ Line string }
}

// patience limits the time from a fault to its symptom, and from its removal to a healthy cluster.
const patience = 4 * time.Minute

// TestFaults causes the faults one after another; each fault is removed before the next.
func TestFaults(t *testing.T) {
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1",
		"SSH_AUTH_SOCK=", "BOOTSTRAP_SECRETS=CustomData")
	p.Run(nil, "up")
	p.Create("demo", "windows")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	s := &scene{plane: p, workload: p.Workload("demo"), set: "demo-md-win"}
	p.Run([]byte(deployment), "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "apply", "-f", "-")
	first := s.machines()[0]
	var rows strings.Builder
	defer func() { t.Logf("faults and answers:\n%s", rows.String()) }()
	if _, ok := s.ask(func(a answer) bool { return a.Healthy }); !ok || len(s.failed()) > 0 {
		t.Fatalf("of a healthy cluster doctor says that %v failed", s.failed())
	}
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
			return a.Healthy == (f.cause == "") && (!a.Waiting || f.check == "A06" || f.check == noCheck) && a.Means.Cause == f.cause &&
				strings.HasPrefix(a.At, f.at) && strings.Contains(fmt.Sprint(a.Seen), f.evidence)
		})
		took := time.Since(begun).Seconds()
		failed := s.failed()
		fmt.Fprintf(&rows, "%-31s %-20s %-44s %3.0fs  %s\n", f.name, got.Means.Cause, got.At, took, strings.Join(failed, " "))
		if !ok {
			t.Errorf("%s: why says %+v, want %s at %s", f.name, got, f.cause, f.at)
		}
		if ok && f.check == noCheck && len(failed) > 0 {
			t.Errorf("%s: doctor's %v failed", f.name, failed)
		} else if ok && f.check != noCheck && !slices.Contains(failed, f.check) {
			t.Errorf("%s: doctor's %s did not fail, only %v", f.name, f.check, failed)
		}
		if f.repairs {
			_, _ = s.plane.Try(nil, "doctor", "demo", "--fix") // the check afterwards shows whether it helped
			if got, ok := s.ask(func(a answer) bool { return a.Healthy }); !ok {
				t.Errorf("%s: doctor --fix does not repair it: %+v", f.name, got)
			}
		}
		s.undo(f, first)
	}
}

// bring causes a fault.
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

// undo reverts what bring did.
func (s *scene) undo(f fault, first string) {
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

// failed returns the numbers of doctor's checks that fail.
func (s *scene) failed() []string {
	out, err := s.plane.Try(nil, "doctor", "demo", "-o", "json")
	if err != nil {
		_, out, _ = strings.Cut(err.Error(), "\n")
	}
	var results []struct{ ID, Verdict string }
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&results); err != nil {
		return []string{"unreadable"}
	}
	var ids []string
	for _, r := range results {
		if r.Verdict == "Failed" {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// ask runs why until its answer is right, and returns the last answer and whether it is right.
func (s *scene) ask(right func(answer) bool) (answer, bool) {
	var a answer
	for deadline := time.Now().Add(patience); ; {
		a = answer{}
		// why's exit code also shows whether the cluster is healthy, so an error is ignored here.
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
