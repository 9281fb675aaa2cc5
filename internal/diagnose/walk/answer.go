// Package walk finds the first thing that is wrong with a cluster, a machine, a set of
// machines, a node or a workload: it walks from the owner over templates, bootstrap,
// infrastructure, guest and node to the pod, and stops where the trouble begins. At each
// step it reads typed status first; text is matched with the causes of that step alone. The
// walk is pure: gathered objects in, an answer out. It changes nothing, never guesses
// beyond what an object or a console says, and shows no secrets. The command line
// imports it.
package walk

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// Answer is the first thing that is wrong, or a healthy object.
type Answer struct {
	// Object is what was asked about.
	Object string `json:"object"`
	// Healthy says that nothing is wrong with all that was examined.
	Healthy bool `json:"healthy"`
	// Waiting says that the answer is about something that is on its way, and no fault.
	Waiting bool `json:"waiting,omitempty"`
	// Step is where the walk stopped: owner, template, admission, controlplane, bootstrap,
	// infrastructure, guest, node, cni, workload, pod, service or volume; At is the object there.
	Step string `json:"step,omitempty"`
	At   string `json:"at,omitempty"`
	// Cause is the name of a known cause, or the reason that the object gives.
	Cause    string   `json:"cause,omitempty"`
	Says     string   `json:"says,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	Fix      string   `json:"fix,omitempty"`
	// Remedy is PowerShell that repairs the node and does no other harm, where there
	// is such a thing.
	Remedy string `json:"remedy,omitempty"`
	// Next is a command that shows more.
	Next string `json:"next,omitempty"`
	// Notes say which commands of a machine's bootstrap data failed, and what of them had
	// no effect.
	Notes []string `json:"notes,omitempty"`
	// NotExamined says what was not looked at, and why.
	NotExamined []string `json:"notExamined,omitempty"`
}

// maxEvidence is the length of a line of evidence, in characters.
const maxEvidence = 400

// said is what an object says of itself at a step.
type said struct {
	// step is the answer's, kind the causes that the text is compared with.
	step string
	kind cause.Step
	// at is KIND/NAME of the object, next a command that shows more.
	at, next string
}

// because makes an answer of a reason and a text. reason is used where no known cause is
// in the text.
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

// waits makes an answer about something that is on its way: what it waits for, and since
// when, which may be zero.
func (f walker) waits(s said, reason, what string, since time.Time) *Answer {
	a := &Answer{Waiting: true, Step: s.step, At: s.at, Cause: reason, Says: "waiting for " + redact.Line(what, maxEvidence), Next: s.next}
	if !since.IsZero() {
		a.Says += " since " + age(f.Taken.Sub(since))
	}
	return a
}

// overdue makes an answer that waits one of a fault when it waits for longer than bound. A
// time that is not known is no reason.
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

// age is a duration as people say it.
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

// first returns the answer of the first look that finds a fault, else the first that
// waits, else nil.
func first(looks ...func() *Answer) *Answer {
	var waiting *Answer
	for _, look := range looks {
		a := look()
		if a != nil && !a.Waiting {
			return a
		}
		if waiting == nil {
			waiting = a
		}
	}
	return waiting
}

// each looks at every item of a list in turn, as first does.
func each[T any](items []T, look func(*T) *Answer) func() *Answer {
	return func() *Answer {
		looks := make([]func() *Answer, len(items))
		for i := range items {
			looks[i] = func() *Answer { return look(&items[i]) }
		}
		return first(looks...)
	}
}

// done is an answer about an object, which is healthy where nothing was found.
func (f walker) done(a *Answer, object string) Answer {
	if a == nil {
		a = &Answer{Healthy: true}
	}
	a.Object, a.NotExamined = object, f.gaps()
	return *a
}

// bad returns the first of the named conditions that is not True, or nil. A
// condition that is not there says nothing.
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
