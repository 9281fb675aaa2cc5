// Package lint reads Kubernetes manifests and reports what of them Windows refuses,
// ignores or reads otherwise. It is the engine: it finds objects with their
// positions, decides which pods are meant for Windows, runs rules, and reports or
// repairs what they find.
//
// It knows no rule of its own, asks no cluster and changes no file. The rules are in
// internal/lint/rules; internal/cli and the webhook join the two.
package lint

import (
	"cmp"
	"slices"
)

// Severity says how bad a finding is.
type Severity int

// Severities in order.
const (
	// Info is advice.
	Info Severity = iota + 1
	// Warning is what is silently ignored, or risky.
	Warning
	// Error is what cannot work.
	Error
)

// String is the name in outputs.
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	}
	return "error"
}

// ParseSeverity reads a name.
func ParseSeverity(name string) (Severity, bool) {
	for _, s := range []Severity{Info, Warning, Error} {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Oracle is who decides what a rule says.
type Oracle string

// Oracles.
const (
	// Unit: only Windows itself; a table and its source.
	Unit Oracle = "unit"
	// APIServer refuses the object, naming the same field.
	APIServer Oracle = "apiserver"
	// APIServerWarning: it warns.
	APIServerWarning Oracle = "apiserver-warning"
	// PodSecurity admission refuses the pod in a labelled namespace.
	PodSecurity Oracle = "podsecurity"
	// CAPZ: the webhook of the Azure provider refuses the object.
	CAPZ Oracle = "capz"
)

// Rule is one thing to look for.
type Rule struct {
	// ID is WIN and three digits.
	ID       string
	Severity Severity
	// Title is one line.
	Title string
	// Doc says what Windows does, why, and what to write instead.
	Doc string
	// Since and Until are Kubernetes minors between which the verdict holds; zero is
	// open, Until is the first where it does not hold any more.
	Since, Until int
	Oracle       Oracle
	// Bad is an example that the rule finds, Good one that it does not.
	Bad, Good string
	// For is the target that the examples need; zero is Kubernetes 1.36 and nothing
	// else.
	For Target
	// Pod looks at one pod that is meant for Windows, Check at the whole set; a rule has
	// either or both. Pods are many and each is looked at by most rules: those of one pod
	// run one after the other, while it is at hand.
	Pod   func(p *Pass, pod *Pod)
	Check func(p *Pass)
}

// holds says whether the verdict holds for the target's Kubernetes.
func (r *Rule) holds(t Target) bool {
	if t.Minor == 0 { // the newest
		return r.Until == 0
	}
	return t.Minor >= r.Since && (r.Until == 0 || t.Minor < r.Until)
}

// Finding is what a rule found at one place.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"-"`
	Level    string   `json:"severity"`
	// File is empty, and Line and Column are 0, for an object of a cluster.
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Object  string `json:"object"`
	Message string `json:"message"`
	// Fix says what to write instead.
	Fix string `json:"fix,omitempty"`
	// Reason says why a finding is suppressed; only suppressed ones have it.
	Reason string `json:"reason,omitempty"`

	source *document
	edits  []Edit
	silent []string
	object *Object
}

// Fixable says whether --fix would repair the finding.
func (f Finding) Fixable() bool { return len(f.edits) > 0 }

// Fix is how to repair a finding. Edits are there when they are safe to make.
type Fix struct {
	Text  string
	Edits []Edit
}

// Pass is one rule's look at a set.
type Pass struct {
	Set    *Set
	Target Target

	rule     *Rule
	findings *[]Finding
}

// Pods are those meant for Windows.
func (p *Pass) Pods() []*Pod {
	return slices.Clip(p.Set.lookup().windows)
}

// Report adds a finding at a place in an object.
func (p *Pass) Report(o *Object, at Value, message string, fix Fix) {
	p.ReportAs(p.rule.Severity, o, at, message, fix)
}

// ReportAs does so with another severity than the rule's.
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

// Run lets the rules look at a set and returns what they found, by file and place,
// without what the objects ask silence for.
func Run(set *Set, rules []Rule, target Target) []Finding {
	shown, _ := RunAll(set, rules, target)
	return shown
}

// block is how many pods a core takes at once.
const block = 64

// RunAll is Run, and returns also what annotations silence, with their reasons.
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
	blocks := slices.Collect(slices.Chunk(set.lookup().windows, block)) // the rules only read what there is then
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
