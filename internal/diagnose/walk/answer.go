// Package walk finds the first fault of a cluster, a machine, a set of machines, a node or a workload: it examines
// owner, templates, bootstrap, infrastructure, guest, node and pod in this order, and stops at the first fault. At each
// step it reads typed status first; text is matched only with the causes of that step. The walk examines gathered
// objects and returns an answer; it does no I/O, draws no conclusion without evidence in an object or console, and
// shows no secrets. The command line, internal/mcp and the packages below internal/diagnose and internal/ui import it.
package walk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
	"casement.dev/casement/internal/windows"
)

// Answer is the result about an object, in three separate parts: Seen is the evidence from objects, consoles and Azure,
// Means is the conclusion from it, and NotExamined are the parts that were not examined. Step and At are the step and
// the object at which the walk stopped.
type Answer struct {
	// Object is the examined object.
	Object string `json:"object"`
	// Healthy is true if no fault was found.
	Healthy bool `json:"healthy"`
	// Waiting is true for an answer about an operation in progress, which is no fault.
	Waiting bool `json:"waiting,omitempty"`
	// Step is the step at which the walk stopped: owner, template, admission, controlplane, bootstrap, infrastructure,
	// guest, node, cni, workload, pod, service, volume, network or object; At is the object with the fault.
	Step string `json:"step,omitempty"`
	At   string `json:"at,omitempty"`
	// Seen is the evidence, the decisive line first.
	Seen []Seen `json:"seen,omitempty"`
	// Means is the conclusion from Seen.
	Means Meaning `json:"means"`
	// Also are other signs that something is wrong, outdated, stalled or paused; they are shown without a conclusion.
	Also []Seen `json:"also,omitempty"`
	// Notes are the commands of a machine's bootstrap data that failed, and its parts that had no effect.
	Notes []string `json:"notes,omitempty"`
	// NotExamined are the parts that were not examined, with the reasons.
	NotExamined []string `json:"notExamined,omitempty"`
}

// Seen is one piece of evidence.
type Seen struct {
	// At is KIND/NAME of the object that contains the evidence, and Step its step.
	At   string `json:"at"`
	Step string `json:"step,omitempty"`
	// Type is the type of the condition, or Event, Console, Log, Field, Probe or Azure.
	Type string `json:"type,omitempty"`
	// Reason is the typed reason or code, without an interpretation.
	Reason string `json:"reason,omitempty"`
	// Line is the decisive line, verbatim and complete, without secrets.
	Line string `json:"line"`
	// Since is the time at which the evidence was first reported, or last changed.
	Since *time.Time `json:"since,omitempty"`
	// Show is a command that shows the evidence again.
	Show string `json:"show,omitempty"`
}

// Meaning is the conclusion from the evidence. Without Known it states that the cause is unknown.
type Meaning struct {
	// Known is true if the evidence itself identifies the cause.
	Known bool `json:"known"`
	// Cause is the name of a known cause, or of the event that a Waiting answer waits for; "" if neither is known.
	Cause string `json:"cause,omitempty"`
	Says  string `json:"says,omitempty"`
	// Fix is the remedy. Harm is set if the fix deletes or opens something: it describes what, and the owner.
	Fix  string `json:"fix,omitempty"`
	Harm string `json:"harm,omitempty"`
	// Remedy is PowerShell that repairs the node and has no other effect, or "".
	Remedy string `json:"remedy,omitempty"`
	// Breaks is true if the remedy breaks connections.
	Breaks bool `json:"breaks,omitempty"`
}

// Name returns the cause or, if none is known, the reason in the evidence.
func (a *Answer) Name() string {
	if a.Means.Cause == "" && len(a.Seen) > 0 {
		return a.Seen[0].Reason
	}
	return a.Means.Cause
}

// Lines returns the lines of the evidence.
func (a *Answer) Lines() (lines []string) {
	for i := range a.Seen {
		if a.Seen[i].Line != "" {
			lines = append(lines, a.Seen[i].Line)
		}
	}
	return lines
}

// Next returns a command that shows more details.
func (a *Answer) Next() string {
	if len(a.Seen) == 0 {
		return ""
	}
	return a.Seen[0].Show
}

// Redacted returns a copy with every text passed through redact.
func (a Answer) Redacted(redact func(string) string) Answer {
	a.Seen, a.Also = slices.Clone(a.Seen), slices.Clone(a.Also)
	for _, seen := range [][]Seen{a.Seen, a.Also} {
		for i := range seen {
			s := &seen[i]
			s.Reason, s.Line, s.Show = redact(s.Reason), redact(s.Line), redact(s.Show)
		}
	}
	m := &a.Means
	m.Cause, m.Says, m.Fix, m.Harm = redact(m.Cause), redact(m.Says), redact(m.Fix), redact(m.Harm)
	a.Notes, a.NotExamined = slices.Clone(a.Notes), slices.Clone(a.NotExamined)
	for _, lines := range [][]string{a.Notes, a.NotExamined} {
		for i := range lines {
			lines[i] = redact(lines[i])
		}
	}
	return a
}

// finding is an unfinished answer. Its texts become the parts of Answer with the same names as its fields.
type finding struct {
	Waiting  bool
	Step, At string
	// Type, Reason and Since describe the first line of evidence.
	Type, Reason string
	Since        time.Time
	Evidence     []string
	// Unknown is true if the evidence does not identify a cause; Cause is then the reason in the evidence.
	Unknown bool
	// Follows is true if the cause is a consequence of another cause, which may be visible elsewhere.
	Follows                        bool
	Cause, Says, Fix, Harm, Remedy string
	Breaks                         bool
	// Next is a command that shows more details.
	Next  string
	Notes []string
}

// sources are the types of evidence, by the step of the text; a condition's own type takes precedence.
var sources = map[cause.Step]string{
	cause.Guest: "Console", cause.Log: "Log", cause.Reach: "Request", cause.Schedule: "PodScheduled", cause.Pull: "ContainerStatus",
	cause.Container: "ContainerStatus", cause.Sandbox: "Event", cause.Volume: "Event", cause.Probe: "Event", cause.Service: "Event",
	cause.Admission: "Event",
}

// answer converts a finding about an object.
func (w walker) answer(a *finding, object string) Answer {
	out := Answer{Object: object, Waiting: a.Waiting, Step: a.Step, At: a.At, Notes: a.Notes,
		Means: Meaning{Known: !a.Unknown, Cause: a.Cause, Says: a.Says, Fix: w.runnable(a, a.Fix), Harm: a.Harm, Remedy: a.Remedy,
			Breaks: a.Breaks}}
	if a.Unknown {
		out.Means.Cause = ""
	}
	lines := a.Evidence
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i, line := range lines {
		seen := Seen{At: a.At, Step: a.Step, Line: line}
		if i == 0 {
			seen.Type, seen.Reason, seen.Show = a.Type, a.Reason, w.runnable(a, a.Next)
			if seen.Reason == "" && a.Unknown {
				seen.Reason = a.Cause
			}
			if !a.Since.IsZero() {
				seen.Since = new(a.Since)
			}
		}
		out.Seen = append(out.Seen, seen)
	}
	return out
}

// maxEvidence is the maximum length of a line of evidence, in characters. It is long enough for Azure's longest
// messages, whose decisive part is at the end.
const maxEvidence = 4096

// said identifies the object and step of a message.
type said struct {
	// step is the Step of the answer; kind selects the causes with which the text is compared.
	step string
	kind cause.Step
	// at is KIND/NAME of the object, and next a command that shows more details.
	at, next string
}

// because returns the finding for a reason and a text: the known cause of that step that they identify, or that the
// cause is unknown. Of a console or log only the decisive line is shown; other texts are shown completely.
func (s said) because(reason, text string) *finding {
	a := &finding{Step: s.step, At: s.at, Cause: reason, Reason: reason, Type: sources[s.kind], Next: s.next}
	c, l, ok := cause.Classify(s.kind, reason, text)
	line := strings.Join(strings.Fields(text), " ")
	if ok {
		a.Cause, a.Says, a.Fix, a.Follows = c.Name, c.Says, c.Fix, c.Follows
	}
	if ok && (s.kind == cause.Guest || s.kind == cause.Log) {
		line = cmp.Or(strings.TrimSpace(strings.TrimPrefix(l, reason+": ")), line)
	}
	if line = strings.TrimPrefix(redact.Line(line, maxEvidence), "* "); line != "" {
		a.Evidence = []string{line}
	}
	if !ok {
		a.Unknown, a.Says = true, fmt.Sprintf("%s says %s; the cause is not known here", s.at, cmp.Or(reason, "this"))
		a.Fix = "see what the line says, and what shows more with the next command"
	}
	return a
}

// condition returns the finding for a condition.
func (s said) condition(c *metav1.Condition) *finding {
	a := s.because(c.Reason, c.Message)
	a.Type, a.Since = c.Type, c.LastTransitionTime.Time
	return a
}

// waits returns a Waiting finding about an awaited event; since is the start of the wait, and may be zero.
func (w walker) waits(s said, reason, what string, since time.Time) *finding {
	a := &finding{Waiting: true, Step: s.step, At: s.at, Cause: reason, Says: "waiting for " + redact.Line(what, maxEvidence), Next: s.next}
	if !since.IsZero() {
		a.Says += " since " + age(w.Taken.Sub(since))
	}
	return a
}

// overdue turns a Waiting finding into a fault if the wait exceeds bound. It does not change the finding if since is zero.
func (w walker) overdue(a *finding, since time.Time, bound time.Duration) *finding {
	if a.Waiting && !since.IsZero() && w.Taken.Sub(since) > bound {
		a.Waiting = false
		a.Says += ", which takes longer than it should"
		if len(a.Evidence) == 0 {
			a.Evidence = []string{a.At + ": " + a.Cause + " since " + since.UTC().Format(time.RFC3339)}
		}
		if a.Fix == "" {
			a.Fix = "see what it does with the next command; replace the object when it shows nothing"
		}
	}
	return a
}

// soon turns a fault into a Waiting finding while its evidence is new: controllers need some time for their part of a
// change. The evidence is shown in both cases.
func (w walker) soon(a *finding, what string) *finding {
	if !a.Since.IsZero() && w.Taken.Sub(a.Since) < slowStatus {
		a.Waiting, a.Fix, a.Harm = true, "", ""
		a.Says = "waiting for " + what + " since " + age(w.Taken.Sub(a.Since))
	}
	return a
}

// tried turns an event of unknown meaning about a new object into a Waiting finding: its writer retries, and the event
// may be about something that does not exist yet. A known cause is a fault immediately.
func (w walker) tried(a *finding, born time.Time, what string) *finding {
	if !a.Unknown || born.IsZero() {
		return a
	}
	return w.soon(a.since(born), what)
}

// age formats a duration for people.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Hours()))
}

// first calls the functions in order and returns the first fault, otherwise the first Waiting finding, otherwise nil.
func first(checks ...func() *finding) *finding {
	var waiting *finding
	for _, check := range checks {
		a := check()
		if a != nil && !a.Waiting {
			return a
		}
		if waiting == nil {
			waiting = a
		}
	}
	return waiting
}

// each returns a function that examines the items of a list in order, like first.
func each[T any](items []T, examine func(*T) *finding) func() *finding {
	return func() *finding {
		checks := make([]func() *finding, len(items))
		for i := range items {
			checks[i] = func() *finding { return examine(&items[i]) }
		}
		return first(checks...)
	}
}

// done completes the answer for an object; if nothing was found, the object is healthy.
func (w walker) done(a *finding, object string) Answer {
	out := Answer{Object: object, Healthy: true}
	if a != nil {
		out = w.answer(a, object)
	}
	out.NotExamined = w.gaps()
	out.Also = append(out.Also, w.builds(cmp.Or(out.At, object))...)
	return out
}

// builds returns the known problems of the Windows build of a node, or of a pod's node. They are shown beside the fault
// and without a conclusion, because the build alone does not prove that it causes the fault.
func (w walker) builds(at string) []Seen {
	kind, name, _ := strings.Cut(at, "/")
	if kind == "Pod" {
		i := slices.IndexFunc(w.Pods, func(p corev1.Pod) bool { return p.Name == name })
		if i < 0 {
			return nil
		}
		kind, name = "Node", w.Pods[i].Spec.NodeName
	}
	n := w.Nodes[name]
	if kind != "Node" || n == nil {
		return nil
	}
	var out []Seen
	kernel := n.Status.NodeInfo.KernelVersion
	for _, r := range windows.Judge(kernel, windows.HitsHost).Found {
		out = append(out, Seen{At: "Node/" + name, Step: "node", Type: "Field", Show: "kubectl describe node " + name,
			Line: fmt.Sprintf("status.nodeInfo.kernelVersion: %s has %s; %s (%s)", kernel, r.Name(), r.Remedy(), r.Source)})
	}
	return out
}

// bad returns the first of the named conditions that is not True, or nil. A missing
// condition is ignored.
func bad(conditions []metav1.Condition, types ...string) *metav1.Condition {
	for _, t := range types {
		if c := condition(conditions, t); c != nil && c.Status != metav1.ConditionTrue {
			return c
		}
	}
	return nil
}

// condition returns the condition of a type, or nil.
func condition(conditions []metav1.Condition, t string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == t {
			return &conditions[i]
		}
	}
	return nil
}
