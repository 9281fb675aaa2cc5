// Package lint reads Kubernetes manifests and reports fields that Windows refuses, ignores or interprets differently.
// It is the engine: it parses objects with their positions, decides which pods are meant for Windows, runs rules, and
// reports or fixes their findings.
//
// It contains no rules, accesses no cluster and changes no files. The rules are in internal/lint/rules; internal/cli
// and the webhook run them with this engine.
package lint

import (
	"cmp"
	"slices"
)

// Severity is the severity of a finding.
type Severity int

// Severities in order.
const (
	// Info is advice.
	Info Severity = iota + 1
	// Warning is a field that is silently ignored, or a risk.
	Warning
	// Error is a setting that cannot work.
	Error
)

// String returns the name of the severity in outputs.
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	}
	return "error"
}

// ParseSeverity returns the severity with a name.
func ParseSeverity(name string) (Severity, bool) {
	for _, s := range []Severity{Info, Warning, Error} {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Oracle is the authority that confirms a rule's verdict.
type Oracle string

// Oracles.
const (
	// Unit means that only Windows itself confirms it; unit tests use a table with its source.
	Unit Oracle = "unit"
	// APIServer means that the API server refuses the object and names the same field.
	APIServer Oracle = "apiserver"
	// APIServerWarning means that the API server accepts the object with a warning.
	APIServerWarning Oracle = "apiserver-warning"
	// PodSecurity means that Pod Security admission refuses the pod in a labelled namespace.
	PodSecurity Oracle = "podsecurity"
	// CAPZ means that the webhook of CAPZ refuses the object.
	CAPZ Oracle = "capz"
)

// Rule finds one kind of mistake.
type Rule struct {
	// ID is WIN followed by three digits.
	ID       string
	Severity Severity
	// Title is one line.
	Title string
	// Doc explains the behaviour of Windows, the reason, and the correct setting.
	Doc string
	// Since and Until limit the Kubernetes minor versions for which the verdict is valid; zero means no limit. Until is
	// the first minor version for which it is no longer valid.
	Since, Until int
	Oracle       Oracle
	// Bad is an example with a finding, and Good one without.
	Bad, Good string
	// For is the target that the examples need; the zero value is the newest Kubernetes without further facts.
	For Target
	// Pod examines one Windows pod, Check the whole set; a rule has one or both. There are many pods, and most rules
	// examine each of them: all Pod functions run for one pod before the next, while the pod is in the processor's
	// cache.
	Pod   func(p *Pass, pod *Pod)
	Check func(p *Pass)
}

// holds reports whether the rule applies to the target's Kubernetes version.
func (r *Rule) holds(t Target) bool {
	if t.Minor == 0 { // the newest version
		return r.Until == 0
	}
	return t.Minor >= r.Since && (r.Until == 0 || t.Minor < r.Until)
}

// Finding is a problem that a rule found at one place.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"-"`
	Level    string   `json:"severity"`
	// File is "", and Line and Column are 0, for an object of a cluster.
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Object  string `json:"object"`
	Message string `json:"message"`
	// Fix describes the correction.
	Fix string `json:"fix,omitempty"`
	// Reason is the reason for the suppression; it is only set for suppressed findings.
	Reason string `json:"reason,omitempty"`

	source *document
	edits  []Edit
	silent []string
	object *Object
}

// Fixable reports whether --fix would fix the problem.
func (f Finding) Fixable() bool { return len(f.edits) > 0 }

// Fix is the correction for a finding. It has edits if they are safe to make automatically.
type Fix struct {
	Text  string
	Edits []Edit
}

// Pass is one rule's run over a set.
type Pass struct {
	Set    *Set
	Target Target

	rule     *Rule
	findings *[]Finding
}

// Pods returns the pods that are meant for Windows.
func (p *Pass) Pods() []*Pod {
	return slices.Clip(p.Set.lookup().windows)
}

// Report adds a finding at a position in an object.
func (p *Pass) Report(o *Object, at Value, message string, fix Fix) {
	p.ReportAs(p.rule.Severity, o, at, message, fix)
}

// ReportAs is like Report, with another severity than the rule's.
func (p *Pass) ReportAs(s Severity, o *Object, at Value, message string, fix Fix) {
	f := Finding{
		Rule: p.rule.ID, Severity: s, Level: s.String(), File: o.File, Path: at.Path(), Object: o.String(),
		Message: message, Fix: fix.Text, silent: o.silenced(), object: o,
	}
	if !o.Stored() {
		line, column := at.position()
		f.Line, f.Column, f.source, f.edits = line+o.source.line, column, o.source, fix.Edits
	}
	*p.findings = append(*p.findings, f)
}

// Run runs the rules over a set and returns their findings, ordered by file and position, without those that
// annotations suppress.
func Run(set *Set, rules []Rule, target Target) []Finding {
	shown, _ := RunAll(set, rules, target)
	return shown
}

// block is the number of pods that a goroutine examines at a time.
const block = 64

// RunAll is like Run, and also returns the findings that annotations suppress, with their reasons.
func RunAll(set *Set, rules []Rule, target Target) (shown, silent []Finding) {
	var whole, pods []*Rule
	for i := range rules {
		r := &rules[i]
		if r.holds(target) && r.Check != nil {
			whole = append(whole, r)
		}
		if r.holds(target) && r.Pod != nil {
			pods = append(pods, r)
		}
	}
	blocks := slices.Collect(slices.Chunk(set.lookup().windows, block)) // from here on, the rules only read the set
	found := make([][]Finding, len(whole)+len(blocks))
	each(len(found), func(i int) {
		p := &Pass{Set: set, Target: target, findings: &found[i]}
		if i < len(whole) {
			p.rule = whole[i]
			p.rule.Check(p)
			return
		}
		for _, pod := range blocks[i-len(whole)] {
			for _, p.rule = range pods {
				p.rule.Pod(p, pod)
			}
		}
	})
	findings := slices.Concat(found...)
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Rule, b.Rule))
	})
	shown = []Finding{}
	for _, f := range findings {
		if ignored(f) {
			f.Reason = f.object.reason()
			silent = append(silent, f)
		} else {
			shown = append(shown, f)
		}
	}
	return shown, silent
}
