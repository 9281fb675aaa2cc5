// Package checks runs the known failure patterns of Windows nodes over a cluster's facts: a row per check, with
// its symptom, cause and fix. It is pure and changes nothing. A check whose evidence is inside a node, where no
// API shows it, is reported as not examined and never as passed. The command line, internal/mcp and
// internal/diagnose/support import it.
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
	At string `json:"at"`
	// Cause and Fix belong to this finding; they are set for a check that is an area, which has many causes.
	Cause    string   `json:"cause,omitempty"`
	Fix      string   `json:"fix,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	Next     string   `json:"next,omitempty"`
	// Remedy is PowerShell that repairs the node and has no other effect; "" if a person has to decide.
	Remedy string `json:"remedy,omitempty"`
	// Breaks is true if the remedy breaks connections, so that the node has to be drained first.
	Breaks bool `json:"breaks,omitempty"`
}

// Result is the outcome of one check.
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

// check is one row of the table. It fails if package walk reports one of the named causes, or if observe finds something.
type check struct {
	id, symptom, cause, fix string
	// onNode is the command that shows the evidence on the node; a check without causes and observe has only this command.
	onNode string
	causes []string
	// steps are the steps of package walk whose faults belong to the check, unless another check names their causes. A
	// check with steps is an area.
	steps []string
	// of limits a check of stopped services to these services.
	of      []string
	observe func(*facts.Snapshot) []Finding
	// unsure reports whether there is something that the check knows nothing about; then finding nothing does not mean
	// that the check passes.
	unsure func(*facts.Snapshot) bool
	// inside is true if the evidence is only visible on the node.
	inside bool
}

// All returns the checks without results, for an explanation of each.
func All() []Result {
	all := slices.Concat(checks, areas)
	out := make([]Result, len(all))
	for i, c := range all {
		out[i] = Result{ID: c.id, Symptom: c.symptom, Verdict: NotExamined, Cause: c.cause, Fix: c.fix, Look: c.onNode}
	}
	return out
}

// Examine runs every check. Each fault that package walk finds fails one of them: the check that names its cause,
// otherwise the area of its step, otherwise X00. keep, if not nil, limits findings to the objects for which it returns
// true.
func Examine(f *facts.Snapshot, keep func(at string) bool) []Result {
	answers := walk.All(f)
	known := make([]bool, len(answers))
	var out []Result
	for _, c := range slices.Concat(checks, areas) {
		r := Result{ID: c.id, Symptom: c.symptom, Verdict: Passed, Cause: c.cause, Fix: c.fix, Look: c.onNode}
		if !c.read(f) || c.unsure != nil && c.unsure(f) {
			r.Verdict = NotExamined
		}
		for i, a := range answers {
			if slices.Contains(c.causes, a.Means.Cause) && c.about(a) || slices.Contains(c.steps, a.Step) && !known[i] {
				known[i] = true
				r.Findings = append(r.Findings, finding(c, a))
			}
		}
		if c.observe != nil {
			r.Findings = append(r.Findings, c.observe(f)...)
		}
		out = append(out, kept(r, keep))
	}
	for i, a := range answers {
		if !known[i] {
			r := Result{ID: "X00", Symptom: a.Name(), Verdict: Passed, Cause: a.Means.Says, Fix: a.Means.Fix}
			r.Findings = []Finding{finding(check{}, a)}
			if r = kept(r, keep); r.Verdict == Failed {
				out = append(out, r)
			}
		}
	}
	return out
}

// finding returns the finding for an answer of package walk. In an area, which has many causes, each finding has its
// own cause and fix.
func finding(c check, a walk.Answer) Finding {
	f := Finding{At: a.At, Evidence: a.Lines(), Next: a.Next(), Remedy: a.Means.Remedy, Breaks: a.Means.Breaks}
	if len(c.steps) > 0 {
		f.Cause, f.Fix = strings.TrimPrefix(a.Name()+": "+a.Means.Says, ": "), a.Means.Fix
	}
	return f
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
