// Package checks runs the known failure patterns of Windows nodes over a
// cluster's facts: a row per check, with its symptom, cause and fix. It is pure
// and changes nothing. A check whose evidence is inside a node, where no API
// shows it, is reported as not examined and never as passed. The command line
// imports it.
package checks

import (
	"slices"
	"strings"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
)

// Verdict is the outcome of a check.
type Verdict string

// The verdicts. NotExamined means that only a command on the node shows the evidence.
const (
	Passed      Verdict = "Passed"
	Failed      Verdict = "Failed"
	NotExamined Verdict = "NotExamined"
)

// Finding is one object in which a check found its fault.
type Finding struct {
	At       string   `json:"at"`
	Evidence []string `json:"evidence,omitempty"`
	Next     string   `json:"next,omitempty"`
	// Remedy is PowerShell that repairs the node and has no other effect; empty where a person has to decide.
	Remedy string `json:"remedy,omitempty"`
}

// Result is one check's outcome.
type Result struct {
	ID      string  `json:"id"`
	Symptom string  `json:"symptom"`
	Verdict Verdict `json:"verdict"`
	Cause   string  `json:"cause"`
	Fix     string  `json:"fix"`
	// Look is the command that shows the evidence on the node.
	Look     string    `json:"look,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// check is one row. It fails if package walk reports one of the named causes, or if observe finds something.
type check struct {
	id, symptom, cause, fix string
	// onNode is the command that shows the evidence on the node; a check without causes and observe has nothing else.
	onNode string
	causes []string
	// of limits a check of stopped services to these services.
	of      []string
	observe func(*facts.Snapshot) []Finding
	// inside marks a check whose evidence is only visible on the node.
	inside bool
}

// All returns the checks without results, to be explained.
func All() []Result {
	out := make([]Result, len(checks))
	for i, c := range checks {
		out[i] = Result{ID: c.id, Symptom: c.symptom, Verdict: NotExamined, Cause: c.cause, Fix: c.fix, Look: c.onNode}
	}
	return out
}

// Examine runs every check. A fault that no check covers becomes a last result, X00, so that no fault is left out.
// keep, if not nil, limits findings to the objects that it accepts.
func Examine(f *facts.Snapshot, keep func(at string) bool) []Result {
	answers := walk.All(f)
	known := map[string]bool{}
	var out []Result
	for _, c := range checks {
		r := Result{ID: c.id, Symptom: c.symptom, Verdict: Passed, Cause: c.cause, Fix: c.fix, Look: c.onNode}
		// If the workload cluster cannot be reached, its nodes and pods are unknown.
		if f.Unreachable != "" || len(c.causes) == 0 && c.observe == nil || c.inside && len(f.Inside) == 0 {
			r.Verdict = NotExamined
		}
		for _, a := range answers {
			if slices.Contains(c.causes, a.Means.Cause) && c.about(a) {
				known[a.Name()] = true
				r.Findings = append(r.Findings, Finding{At: a.At, Evidence: a.Lines(), Next: a.Next(), Remedy: a.Means.Remedy})
			}
		}
		if c.observe != nil {
			r.Findings = append(r.Findings, c.observe(f)...)
		}
		out = append(out, kept(r, keep))
	}
	for _, a := range answers {
		if !known[a.Name()] {
			r := Result{ID: "X00", Symptom: a.Name(), Verdict: Passed, Cause: a.Means.Says, Fix: a.Means.Fix}
			r.Findings = []Finding{{At: a.At, Evidence: a.Lines(), Next: a.Next()}}
			if r = kept(r, keep); r.Verdict == Failed {
				out = append(out, r)
			}
		}
	}
	return out
}

// about reports whether an answer has one of the check's causes.
func (c check) about(a walk.Answer) bool {
	evidence := strings.Join(a.Lines(), " ")
	return a.Means.Cause != serviceStopped || len(c.of) == 0 ||
		slices.ContainsFunc(c.of, func(s string) bool { return strings.Contains(evidence, "service "+s) })
}

// serviceStopped is a cause that several checks share.
const serviceStopped = "ServiceStopped"

func kept(r Result, keep func(string) bool) Result {
	if keep != nil {
		r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return !keep(f.At) })
	}
	if len(r.Findings) > 0 {
		r.Verdict = Failed
	}
	return r
}
