// Package walk finds the first fault of a cluster, a machine, a set of machines, a node or a workload: it walks
// from the owner over templates, bootstrap, infrastructure, guest and node to the pod, and stops at the first
// fault. At each step it reads typed status first; text is matched only with the causes of that step. The walk
// takes gathered objects and returns an answer; it does no I/O, draws no conclusion that no object or console
// supports, and shows no secrets. The command line and the packages below internal/diagnose and internal/ui
// import it.
package walk

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// Answer is the first fault of an object, or the statement that the object is healthy.
type Answer struct {
	// Object is the examined object.
	Object string `json:"object"`
	// Healthy is true if nothing that was examined has a fault.
	Healthy bool `json:"healthy"`
	// Waiting marks an answer about an operation in progress, which is no fault.
	Waiting bool `json:"waiting,omitempty"`
	// Step is the step at which the walk stopped: owner, template, admission, controlplane, bootstrap, infrastructure,
	// guest, node, cni, workload, pod, service or volume; At is the object with the fault.
	Step string `json:"step,omitempty"`
	At   string `json:"at,omitempty"`
	// Cause is the name of a known cause, or the reason in the object's condition.
	Cause    string   `json:"cause,omitempty"`
	Says     string   `json:"says,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	Fix      string   `json:"fix,omitempty"`
	// Remedy is PowerShell that repairs the node and has no other effect, if there is any.
	Remedy string `json:"remedy,omitempty"`
	// Next is a command that shows more.
	Next string `json:"next,omitempty"`
	// Notes are the commands of a machine's bootstrap data that failed, and its parts that had no effect.
	Notes []string `json:"notes,omitempty"`
	// NotExamined are the parts that were not examined, with the reasons.
	NotExamined []string `json:"notExamined,omitempty"`
}

// maxEvidence is the length of a line of evidence, in characters.
const maxEvidence = 400

// said identifies the object and step that a message belongs to.
type said struct {
	// step is the Step of the answer; kind selects the causes with which the text is compared.
	step string
	kind cause.Step
	// at is KIND/NAME of the object, next a command that shows more.
	at, next string
}

// because returns an answer from a reason and a text. reason becomes the cause if the text has no known cause.
func (s said) because(reason, text string) *Answer {
	a := &Answer{Step: s.step, At: s.at, Cause: reason, Next: s.next}
	line := strings.Join(strings.Fields(text), " ")
	if c, l, ok := cause.Classify(s.kind, reason+": "+text); ok {
		a.Cause, a.Says, a.Fix, line = c.Name, c.Says, c.Fix, strings.TrimPrefix(l, reason+": ")
		if strings.TrimSpace(line) == "" {
			line = text
		}
	}
	if line = strings.TrimPrefix(redact.Line(line, maxEvidence), "* "); line != "" {
		a.Evidence = []string{line}
	}
	if a.Says == "" {
		a.Says = fmt.Sprintf("%s reports %s, which is no cause that is known here", s.at, reason)
	}
	return a
}

// waits returns a Waiting answer: what is awaited, and since when, which may be zero.
func (f walker) waits(s said, reason, what string, since time.Time) *Answer {
	a := &Answer{Waiting: true, Step: s.step, At: s.at, Cause: reason, Says: "waiting for " + redact.Line(what, maxEvidence), Next: s.next}
	if !since.IsZero() {
		a.Says += " since " + age(f.Taken.Sub(since))
	}
	return a
}

// overdue turns a Waiting answer into a fault if the wait exceeds bound. It leaves the answer unchanged if since is
// zero.
func (f walker) overdue(a *Answer, since time.Time, bound time.Duration) *Answer {
	if a.Waiting && !since.IsZero() && f.Taken.Sub(since) > bound {
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
func first(checks ...func() *Answer) *Answer {
	var waiting *Answer
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
func each[T any](items []T, examine func(*T) *Answer) func() *Answer {
	return func() *Answer {
		checks := make([]func() *Answer, len(items))
		for i := range items {
			checks[i] = func() *Answer { return examine(&items[i]) }
		}
		return first(checks...)
	}
}

// done completes an answer for an object; if nothing was found the object is healthy.
func (f walker) done(a *Answer, object string) Answer {
	if a == nil {
		a = &Answer{Healthy: true}
	}
	a.Object, a.NotExamined = object, f.gaps()
	return *a
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
