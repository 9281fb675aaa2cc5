// Package walk finds the first fault of a cluster, a machine, a set of machines, a node or a workload: it walks
// from the owner over templates, bootstrap, infrastructure, guest and node to the pod, and stops at the first
// fault. At each step it reads typed status first; text is matched only with the causes of that step. The walk
// takes gathered objects and returns an answer; it does no I/O, draws no conclusion that no object or console
// supports, and shows no secrets. The command line, internal/mcp and the packages below
// internal/diagnose and internal/ui import it.
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

// Answer is what was found about an object, in three parts that are never mixed: Seen is what objects, consoles and Azure
// say, Means is what that means, and NotExamined is what was not looked at. Step and At say where the walk stopped.
type Answer struct {
	// Object is the examined object.
	Object string `json:"object"`
	// Healthy is true if nothing that was examined has a fault.
	Healthy bool `json:"healthy"`
	// Waiting marks an answer about an operation in progress, which is no fault.
	Waiting bool `json:"waiting,omitempty"`
	// Step is the step at which the walk stopped: owner, template, admission, controlplane, bootstrap, infrastructure,
	// guest, node, cni, workload, pod, service, volume, network or object; At is the object with the fault.
	Step string `json:"step,omitempty"`
	At   string `json:"at,omitempty"`
	// Seen is what was seen, the decisive line first.
	Seen []Seen `json:"seen,omitempty"`
	// Means is the conclusion from Seen.
	Means Meaning `json:"means"`
	// Also is what else says that something is wrong, old, stalled or paused: it is seen, and not judged.
	Also []Seen `json:"also,omitempty"`
	// Notes are the commands of a machine's bootstrap data that failed, and its parts that had no effect.
	Notes []string `json:"notes,omitempty"`
	// NotExamined are the parts that were not examined, with the reasons.
	NotExamined []string `json:"notExamined,omitempty"`
}

// Seen is one thing that was seen.
type Seen struct {
	// At is KIND/NAME of the object that says it, Step its step.
	At   string `json:"at"`
	Step string `json:"step,omitempty"`
	// Type is the type of the condition, or Event, Console, Log, Field, Probe or Azure.
	Type string `json:"type,omitempty"`
	// Reason is the typed reason or code, without an interpretation.
	Reason string `json:"reason,omitempty"`
	// Line is the decisive line, verbatim and whole, without secrets.
	Line string `json:"line"`
	// Since is when it was said first, or last changed.
	Since *time.Time `json:"since,omitempty"`
	// Show is a command that shows it again.
	Show string `json:"show,omitempty"`
}

// Meaning is what the evidence means. Without Known it says that the cause is not known here.
type Meaning struct {
	// Known is true if the evidence itself says the cause.
	Known bool `json:"known"`
	// Cause is the name of a known cause, or what a Waiting answer waits for; empty if none is known.
	Cause string `json:"cause,omitempty"`
	Says  string `json:"says,omitempty"`
	// Fix is what to do. Harm is set if the fix deletes or opens something: what, and whose it is.
	Fix  string `json:"fix,omitempty"`
	Harm string `json:"harm,omitempty"`
	// Remedy is PowerShell that repairs the node and has no other effect, if there is any.
	Remedy string `json:"remedy,omitempty"`
	// Breaks is set if the remedy breaks connections.
	Breaks bool `json:"breaks,omitempty"`
}

// Name returns the cause or, if none is known, the reason that was seen.
func (a *Answer) Name() string {
	if a.Means.Cause == "" && len(a.Seen) > 0 {
		return a.Seen[0].Reason
	}
	return a.Means.Cause
}

// Lines returns the lines that were seen.
func (a *Answer) Lines() (lines []string) {
	for i := range a.Seen {
		if a.Seen[i].Line != "" {
			lines = append(lines, a.Seen[i].Line)
		}
	}
	return lines
}

// Next returns a command that shows more.
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

// finding is an answer while it is made. Its texts belong to the parts of Answer as its fields are named.
type finding struct {
	Waiting  bool
	Step, At string
	// Type, Reason and Since are those of the first line of evidence.
	Type, Reason string
	Since        time.Time
	Evidence     []string
	// Unknown is set if the evidence does not say a cause; Cause is then the reason that was seen.
	Unknown bool
	// Follows is set if the cause follows from another one, which may be seen elsewhere.
	Follows                        bool
	Cause, Says, Fix, Harm, Remedy string
	Breaks                         bool
	// Next is a command that shows more.
	Next  string
	Notes []string
}

// sources are the types of what is seen, by the step of the text; a condition's own type goes before it.
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

// maxEvidence bounds a line of evidence, in characters: Azure's longest messages, which end with what decides, fit in.
const maxEvidence = 4096

// said identifies the object and step that a message belongs to.
type said struct {
	// step is the Step of the answer; kind selects the causes with which the text is compared.
	step string
	kind cause.Step
	// at is KIND/NAME of the object, next a command that shows more.
	at, next string
}

// because returns an answer from a reason and a text: the known cause of that step whose evidence they are, or else that
// the cause is not known here. The text of a console or log is one line; any other is shown whole.
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

// condition returns the answer for a condition.
func (s said) condition(c *metav1.Condition) *finding {
	a := s.because(c.Reason, c.Message)
	a.Type, a.Since = c.Type, c.LastTransitionTime.Time
	return a
}

// waits returns a Waiting answer: what is awaited, and since when, which may be zero.
func (w walker) waits(s said, reason, what string, since time.Time) *finding {
	a := &finding{Waiting: true, Step: s.step, At: s.at, Cause: reason, Says: "waiting for " + redact.Line(what, maxEvidence), Next: s.next}
	if !since.IsZero() {
		a.Says += " since " + age(w.Taken.Sub(since))
	}
	return a
}

// overdue turns a Waiting answer into a fault if the wait exceeds bound. It leaves the answer unchanged if since is
// zero.
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

// soon turns a fault into a Waiting answer while what it says is new: controllers take some time for their part of a change.
// The evidence is shown all the same.
func (w walker) soon(a *finding, what string) *finding {
	if !a.Since.IsZero() && w.Taken.Sub(a.Since) < slowStatus {
		a.Waiting, a.Fix, a.Harm = true, "", ""
		a.Says = "waiting for " + what + " since " + age(w.Taken.Sub(a.Since))
	}
	return a
}

// tried turns an event of unknown meaning about an object that is new into a Waiting answer: who wrote it tries again, and what it
// waits for may not be there yet. A known cause is a fault at once.
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

// first calls the functions in order and returns the first fault, else the first Waiting answer, else nil.
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

// each returns a function that examines the items of a list in order, as first does.
func each[T any](items []T, examine func(*T) *finding) func() *finding {
	return func() *finding {
		checks := make([]func() *finding, len(items))
		for i := range items {
			checks[i] = func() *finding { return examine(&items[i]) }
		}
		return first(checks...)
	}
}

// done completes an answer for an object; if nothing was found the object is healthy.
func (w walker) done(a *finding, object string) Answer {
	out := Answer{Object: object, Healthy: true}
	if a != nil {
		out = w.answer(a, object)
	}
	out.NotExamined = w.gaps()
	out.Also = append(out.Also, w.builds(cmp.Or(out.At, object))...)
	return out
}

// builds returns what is known to be wrong with the Windows build of a node, or of the node of a pod. It is seen beside
// the fault, and not judged: the build alone does not say that the fault is due to it.
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
