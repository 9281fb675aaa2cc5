// Package cause classifies the messages that explain why machines, nodes and pods do not come up: messages of Azure,
// the guests' agents, kubeadm, the kubelet, container runtimes, CNIs and admission. Each pattern belongs to a step and
// is matched only with texts of that step, because the same words mean different faults of a virtual machine and of a
// container. The package maps text to causes and does no I/O. Any package may import it.
package cause

import (
	"regexp"
	"slices"
	"strings"
)

// Step is the source of a text. It selects the patterns that the text is matched with.
type Step string

// The steps on the way from a declaration to a running container.
const (
	// Azure is a condition of an infrastructure object: an ARM error code and message.
	Azure Step = "azure"
	// Data is a message of the provider or Cluster API about bootstrap data.
	Data Step = "data"
	// Guest is a line of a boot log: cloudbase-init, cloud-init, kubeadm, the kubelet's start.
	Guest Step = "guest"
	// Node is a condition of a node.
	Node Step = "node"
	// Reach is an error of a client that connects to an API server.
	Reach Step = "reach"
	// Admission is the reason why an API server refuses an object that a controller creates.
	Admission Step = "admission"
	// Schedule is the scheduler's message about a pod.
	Schedule Step = "schedule"
	// Pull is the runtime's message about a container's image.
	Pull Step = "pull"
	// Sandbox is the reason why a pod's sandbox is not created: its network or its pause image.
	Sandbox Step = "sandbox"
	// Volume is the reason why a volume is not provisioned, attached or mounted.
	Volume Step = "volume"
	// Container is the reason why a container is not created or started, or has ended.
	Container Step = "container"
	// Log is the log of a container that ends.
	Log Step = "log"
	// Probe is the kubelet's message about a container's probes.
	Probe Step = "probe"
	// Service is the cloud provider's message about a service's load balancer.
	Service Step = "service"
	// Deletion is the message of an object that is being deleted.
	Deletion Step = "deletion"
)

// Steps returns all steps in order, from the declaration to the running container.
func Steps() []Step {
	return []Step{Azure, Data, Guest, Node, Reach, Admission, Schedule, Pull, Sandbox, Volume, Container, Log, Probe, Service, Deletion}
}

// Cause is a known cause of a fault, recognised by a message of some program.
type Cause struct {
	// Name is a stable identifier that scripts may compare.
	Name string `json:"name"`
	// Says describes the cause in a sentence; Fix is the remedy.
	Says string `json:"says"`
	Fix  string `json:"fix"`
	// Follows is true for a cause that is a consequence of another cause of the same step: a kubelet that does not run
	// follows from the flag that it refuses.
	Follows bool `json:"-"`

	// reasons are the typed reasons and codes that identify the cause, whatever the text is.
	reasons []string
	pattern string
	match   *regexp.Regexp // nil if no text identifies the cause
	needles []string       // the result of needles for match
	// by matches the lines of the programs that write the text; nil for a text that only one program can write.
	by *regexp.Regexp
}

// Classify returns the first known cause of a step that is identified by a typed reason or code, or otherwise by the
// text, and the line that identifies it. reason is "" for a text without a type, such as a line of a console.
func Classify(step Step, reason, text string) (Cause, string, bool) {
	if reason != "" {
		text = reason + ": " + text
	}
	lower := strings.ToLower(text)
	for _, c := range known[step] {
		// The conditions that casement's controllers write about a boot log have the cause's name as their reason.
		if slices.Contains(c.reasons, reason) || step == Guest && reason == c.Name {
			return c, Line(text, 0), true
		}
		if c.match == nil || !c.mayMatch(lower) {
			continue
		}
		at := c.match.FindStringIndex(text)
		if at == nil {
			continue
		}
		if line := Line(text, at[0]); c.by == nil || c.by.MatchString(line) {
			return c, line, true
		}
	}
	return Cause{}, "", false
}

// succeeded matches kubeadm's last message after a successful init or join.
var succeeded = regexp.MustCompile(`Your Kubernetes control-plane has initialized successfully|This node has joined the cluster`)

// programEnd is the beginning of the line in which a simulated machine's console reports that a program of its control
// plane ended, with the last words of that program. Such programs end once or twice during each start.
const programEnd = "casement: the static pod "

// Last returns the known cause that is nearest to the end of lines, and its line. It returns a cause with Follows only
// if there is no other; of several such causes it returns the first one in the step's list. A consequence before
// kubeadm's success, such as a kubelet's call to an API server that does not serve yet, is ignored; the end of a
// program is no cause by itself.
func Last(step Step, lines []string) (Cause, string, bool) {
	var consequence Cause
	at, rank, over := "", len(known[step]), false
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, programEnd) {
			continue
		}
		over = over || succeeded.MatchString(line)
		c, l, ok := Classify(step, "", line)
		if over && c.Follows && c.Name != CommandFailed && c.Name != AgentFailed {
			continue
		}
		if ok && !c.Follows {
			return c, l, true
		}
		if i := slices.IndexFunc(known[step], func(k Cause) bool { return k.Name == c.Name }); ok && i < rank {
			consequence, at, rank = c, l, i
		}
	}
	return consequence, at, at != ""
}

// Of returns the known causes of a step, in the order in which they are matched.
func Of(step Step) []Cause { return append([]Cause(nil), known[step]...) }

// Line returns the line of text around offset i.
func Line(text string, i int) string {
	start, end := i, i
	for start > 0 && text[start-1] != '\n' {
		start--
	}
	for end < len(text) && text[end] != '\n' {
		end++
	}
	return text[start:end]
}

// row returns a cause with the pattern of its text, which ignores case; without a pattern no text identifies it.
func row(name, pattern, says, fix string) Cause {
	c := Cause{Name: name, Says: says, Fix: fix, pattern: pattern}
	if pattern != "" {
		c.matches(`(?i)` + pattern)
	}
	return c
}

// matches sets the expression for the texts that identify the cause.
func (c *Cause) matches(expression string) {
	c.match, c.needles = regexp.MustCompile(expression), needles(expression)
}

// AnotherTemplate is the part of a fix about an immutable template of the user.
const AnotherTemplate = "; a template is immutable, so make another and name it"

// codes adds codes that identify the cause as a typed reason and, because an error may contain another one, as a word
// of the text.
func (c Cause) codes(words string) Cause {
	c = c.only(words)
	code := `\b(?:` + strings.ReplaceAll(words, " ", "|") + `)\b`
	if c.pattern != "" {
		code += `|(?i:` + c.pattern + `)`
	}
	c.matches(code)
	return c
}

// only adds reasons that identify the cause only as a typed reason, because any text may contain these words.
func (c Cause) only(words string) Cause {
	c.reasons = append(slices.Clone(c.reasons), strings.Fields(words)...)
	return c
}

// from limits a cause to lines of the programs that by matches, because a user's command may print the same words.
func (c Cause) from(by *regexp.Regexp) Cause {
	c.by = by
	return c
}

// follows returns a row whose cause has Follows set.
func follows(name, pattern, says, fix string) Cause {
	c := row(name, pattern, says, fix)
	c.Follows = true
	return c
}

// known are the causes by step; within a step root causes come before their consequences.
var known = map[Step][]Cause{
	Azure: azure, Data: data, Guest: slices.Concat(joining, guest), Node: node, Reach: reach,
	Admission: slices.Concat(specs, admission), Schedule: schedule, Pull: pull,
	Sandbox: sandbox, Volume: slices.Concat(volume, specificAzure, unmade), Container: slices.Concat(identities, container), Log: log,
	Probe:   probe,
	Service: service, Deletion: deletion,
}
