package fault

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Kind is the kind of fault that a rule causes.
type Kind string

// The kinds of faults, by what they act on. The first five replace the answer to a request, the
// next two refuse a write as the platform does, the last three make an operation fail.
const (
	// Throttle answers 429 TooManyRequests with Retry-After.
	Throttle Kind = "throttle"
	// Conflict answers 409 with AnotherOperationInProgress.
	Conflict Kind = "conflict"
	// Unavailable answers 503 ServerTimeout, or the rule's status and code.
	Unavailable Kind = "unavailable"
	// Drop closes the connection without an answer. The request is not carried out.
	Drop Kind = "drop"
	// Lose executes the request and closes the connection without an answer.
	Lose Kind = "lose"
	// Quota refuses a virtual machine for lack of cores.
	Quota Kind = "quota"
	// SKU refuses a virtual machine because its size is not available.
	SKU Kind = "sku"
	// Operation makes the long-running operation of a call fail.
	Operation Kind = "operation"
	// BootFailure prevents a virtual machine's guest from reporting its provisioning
	// (OSProvisioningTimedOut).
	BootFailure Kind = "boot-failure"
	// SlowBoot delays the boot of a virtual machine by Delay.
	SlowBoot Kind = "slow-boot"
	// Eviction evicts a spot virtual machine; Delay is counted from its boot.
	Eviction Kind = "eviction"
	// Guest injects a guest fault into a virtual machine.
	Guest Kind = "guest"
)

// Kinds returns all kinds with their descriptions, in the order of help texts.
func Kinds() [][2]string {
	return [][2]string{
		{string(Throttle), "answer 429 with Retry-After"},
		{string(Conflict), "answer 409 AnotherOperationInProgress"},
		{string(Unavailable), "answer 503, or --status and --code"},
		{string(Drop), "drop the connection before the call is carried out"},
		{string(Lose), "carry the call out and drop the connection before the answer"},
		{string(Quota), "refuse a VM for lack of cores"},
		{string(SKU), "refuse a VM because its size is not available"},
		{string(Operation), "let the operation of the call fail, with --code"},
		{string(BootFailure), "the guest of a VM never reports"},
		{string(SlowBoot), "the guest of a VM boots --delay later"},
		{string(Eviction), "a spot VM is evicted --delay after it came up"},
		{string(Guest), "the guest of a VM has a --guest-fault"},
	}
}

// Rule is one fault. The first group of fields selects calls (an empty field selects all),
// the second limits how often the rule matches, the third changes the fault that its kind
// causes.
type Rule struct {
	// ID is assigned by the Set.
	ID   string `json:"id,omitempty"`
	Kind Kind   `json:"kind"`

	// Verbs are HTTP methods.
	Verbs []string `json:"verbs,omitempty"`
	// Type, Group and Name are patterns (path.Match, with * also matching slashes) of the
	// resource type, the resource group and the resource's name, without case.
	Type  string `json:"type,omitempty"`
	Group string `json:"group,omitempty"`
	Name  string `json:"name,omitempty"`

	// After is how many matching calls pass before the rule acts; Count is how often it
	// acts (0: without limit); Probability is the chance that it acts on a call, where 0
	// and 1 both mean always.
	After       int     `json:"after,omitempty"`
	Count       int     `json:"count,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	// Seed makes the rule's random choices repeatable; for a rule in a file it is added to
	// the file's seed.
	Seed uint64 `json:"seed,omitempty"`

	// Status, Code and Message replace the values of the kind's error.
	Status  int    `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// RetryAfter is in seconds.
	RetryAfter int `json:"retryAfter,omitempty"`
	// Delay is a duration in the form of time.ParseDuration, for SlowBoot and Eviction.
	Delay string `json:"delay,omitempty"`
	// GuestFault is the name of the guest fault to inject, for Guest.
	GuestFault string `json:"ailment,omitempty"`

	// Seen is the number of calls that the rule selected, Matched the number of calls that it acted
	// on; the Set counts both.
	Seen    int `json:"seen,omitempty"`
	Matched int `json:"struck,omitempty"`
}

// File is a file of rules.
type File struct {
	// Seed makes the random choices of a run repeatable.
	Seed  uint64 `json:"seed,omitempty"`
	Rules []Rule `json:"faults"`
}

// Parse reads YAML or JSON and checks each rule.
func Parse(data []byte) (File, error) {
	var f File
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return f, fmt.Errorf("faults: %w", err)
	}
	for i, r := range f.Rules {
		if err := r.Validate(); err != nil {
			return f, fmt.Errorf("faults[%d]: %w", i, err)
		}
	}
	return f, nil
}

// Validate returns an error that explains why a rule is invalid, or nil.
func (r Rule) Validate() error {
	known := slices.ContainsFunc(Kinds(), func(k [2]string) bool { return k[0] == string(r.Kind) })
	if !known {
		var names []string
		for _, k := range Kinds() {
			names = append(names, k[0])
		}
		return fmt.Errorf("kind %q is none of %s", r.Kind, strings.Join(names, ", "))
	}
	for field, pattern := range map[string]string{"type": r.Type, "group": r.Group, "name": r.Name} {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%s: pattern %q: %w", field, pattern, err)
		}
	}
	switch {
	case r.Probability < 0 || r.Probability > 1:
		return fmt.Errorf("probability %g is not between 0 and 1", r.Probability)
	case r.Count < 0 || r.After < 0 || r.RetryAfter < 0:
		return fmt.Errorf("count, after and retryAfter must not be negative")
	case r.Status != 0 && (r.Status < 400 || r.Status > 599):
		return fmt.Errorf("status %d is no HTTP error (400 to 599)", r.Status)
	case r.Kind == Guest && r.GuestFault == "":
		return fmt.Errorf("guest needs a guest fault: casement azure faults guest-faults")
	case r.Kind == SlowBoot && r.Delay == "":
		return fmt.Errorf("slow-boot needs a delay, as in 90s")
	}
	if _, err := r.delay(); err != nil {
		return fmt.Errorf("delay: %w", err)
	}
	return nil
}

func (r Rule) delay() (time.Duration, error) {
	if r.Delay == "" {
		return 0, nil
	}
	return time.ParseDuration(r.Delay)
}

// Wait returns the rule's delay, or 0 if it has none.
func (r Rule) Wait() time.Duration {
	d, err := r.delay()
	if err != nil {
		return 0 // refused by Validate
	}
	return d
}

// Target describes a call that rules are matched against. Empty fields are unknown.
type Target struct {
	Verb, Type, Group, Name string
}

// matches reports whether a rule selects a target.
func (r Rule) matches(t Target) bool {
	if len(r.Verbs) > 0 && !slices.ContainsFunc(r.Verbs, func(v string) bool { return strings.EqualFold(v, t.Verb) }) {
		return false
	}
	return like(r.Type, t.Type) && like(r.Group, t.Group) && like(r.Name, t.Name)
}

// like matches a pattern without case; * also matches slashes.
func like(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	flat := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(text))
	return err == nil && ok
}
