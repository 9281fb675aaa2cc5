// Package kubechange is one table of the changes of Kubernetes' minors for Windows nodes:
// settings of the kubelet that Windows refuses or ignores, feature gates, versions of kubeadm's
// configuration, fields of pods without effect, defects with the releases that fix them. Each
// row names its source.
//
// It holds facts and judges no manifest. It refuses to know a client, and to import more than
// the standard library. Packages internal/lint/rules and internal/preflight import it; the
// simulator has facts of its own.
package kubechange

import (
	"fmt"
	"slices"
	"strings"
)

// First and Newest are the oldest and the newest minor that the table was made for.
const (
	First  = 31
	Newest = 37
)

// Effect is the effect of a setting on Windows.
type Effect string

// Effects.
const (
	// Refused: the program exits at its start, or kubeadm stops.
	Refused Effect = "refused"
	// Ignored: nothing happens.
	Ignored Effect = "ignored"
	// Harmful: it is accepted, and pods or the node suffer.
	Harmful Effect = "harmful"
)

// Span are the minors from From on and before Until; zero is unbounded.
type Span struct{ From, Until int }

// Holds reports whether a minor is in the span. Zero is the newest.
func (s Span) Holds(minor int) bool {
	if minor == 0 {
		return s.Until == 0
	}
	return minor >= s.From && (s.Until == 0 || minor < s.Until)
}

// String describes the minors.
func (s Span) String() string {
	switch {
	case s.From == 0 && s.Until == 0:
		return "all"
	case s.Until == 0:
		return fmt.Sprintf("from 1.%d", s.From)
	case s.From == 0:
		return fmt.Sprintf("before 1.%d", s.Until)
	}
	return fmt.Sprintf("1.%d to 1.%d", s.From, s.Until-1)
}

// Setting is a field of the KubeletConfiguration on a Windows node.
type Setting struct {
	Span
	// Path is the field, with dots.
	Path string
	// Flag is the kubelet's flag of the same meaning; "" where there is none.
	Flag string
	// Value is the one value that the row is for, or its prefix before a *; "" means any value that is not
	// in Harmless.
	Value string
	// Harmless are values that ask for nothing.
	Harmless []string
	Effect   Effect
	// Unless is a feature gate that takes the effect away where it is on.
	Unless string
	// Usual is set for a setting that kubeadm writes into every configuration, or corrects on Windows
	// itself: it is reported only where a configuration is for Windows alone.
	Usual bool
	// Why completes "the kubelet on Windows ...".
	Why, Source string
}

// SettingsAt returns the rows that hold for a minor.
func SettingsAt(minor int) []Setting {
	return slices.DeleteFunc(slices.Clone(settings), func(s Setting) bool { return !s.Holds(minor) })
}

// Matches reports whether a row is for a value. "" is an empty text or list.
func (s Setting) Matches(value string) bool {
	if begin, ok := strings.CutSuffix(s.Value, "*"); ok {
		return strings.HasPrefix(strings.ToLower(value), strings.ToLower(begin))
	}
	if s.Value != "" {
		return strings.EqualFold(s.Value, value)
	}
	return !slices.ContainsFunc(s.Harmless, func(h string) bool { return strings.EqualFold(h, value) })
}

// Gate is a feature gate that concerns Windows.
type Gate struct {
	Name string
	// Known are the minors whose components have the gate: others exit at their start.
	Known Span
	// On is the first minor in which it is on by default, Locked the first whose components exit when it is switched off,
	// Inert the first in which it does nothing; zero is none.
	On, Locked, Inert int
	// Linux is set where the gate has no effect on Windows.
	Linux        bool
	What, Source string
}

// GateByName finds a gate.
func GateByName(name string) (Gate, bool) {
	i := slices.IndexFunc(gates, func(g Gate) bool { return g.Name == name })
	if i < 0 {
		return Gate{}, false
	}
	return gates[i], true
}

// Problem returns the problem of a gate with a value in a minor, or "". refused reports whether the
// component exits at its start.
func (g Gate) Problem(minor int, value string) (text string, refused bool) {
	on := strings.EqualFold(value, "true")
	switch {
	case g.Known.Until > 0 && (minor == 0 || minor >= g.Known.Until):
		return fmt.Sprintf("%s is unknown since 1.%d: the component exits at its start", g.Name, g.Known.Until), true
	case minor != 0 && minor < g.Known.From:
		return fmt.Sprintf("%s is unknown before 1.%d: the component exits at its start", g.Name, g.Known.From), true
	case !on && since(g.Locked, minor):
		return fmt.Sprintf("%s is locked on since 1.%d: the component exits at its start", g.Name, g.Locked), true
	case on && since(g.Inert, minor):
		return fmt.Sprintf("%s does nothing and is deprecated since 1.%d", g.Name, g.Inert), false
	case on && g.Linux:
		return g.Name + " has no effect on Windows", false
	}
	return "", false
}

// since reports whether a minor is at least first, which zero never is.
func since(first, minor int) bool { return first > 0 && (minor == 0 || minor >= first) }

// Config is a version of kubeadm's configuration files.
type Config struct {
	Span
	// Version is the version of the group kubeadm.k8s.io.
	Version, Source string
}

// ConfigVersion returns the minors whose kubeadm reads a version of its configuration; ok is false if none
// ever did.
func ConfigVersion(version string) (c Config, ok bool) {
	i := slices.IndexFunc(configs, func(c Config) bool { return c.Version == version })
	if i < 0 {
		return Config{}, false
	}
	return configs[i], true
}

// Features returns the minors whose kubeadm knows a feature gate of its own.
func Features(name string) (Span, bool) {
	s, ok := features[name]
	return s, ok
}

// Field is a field of a pod's volumes or mounts that has no effect on Windows.
type Field struct {
	// From is the first minor that has the field.
	From int
	// At is its place in a pod: a path with [] for items.
	At          string
	Why, Source string
}

// Fields returns all rows.
func Fields() []Field { return slices.Clone(fields) }

// Release is a release of Kubernetes: 1.Minor.Patch.
type Release struct{ Minor, Patch int }

// String returns the release as a version.
func (r Release) String() string { return fmt.Sprintf("1.%d.%d", r.Minor, r.Patch) }

// Scope says which Windows nodes or pods a defect hits.
type Scope string

// Scopes.
const (
	// Everywhere: every Windows node.
	Everywhere Scope = "every Windows node"
	// SubPaths: containers with more than one mount of a subPath.
	SubPaths Scope = "containers with several subPaths"
	// DualStack: Services with two IP families.
	DualStack Scope = "Services with two IP families"
	// Bridge: networks of the type L2Bridge.
	Bridge Scope = "L2Bridge networks"
	// LocalTraffic: Services with internalTrafficPolicy Local.
	LocalTraffic Scope = "Services with internalTrafficPolicy Local"
	// RunAsUser: pods with runAsUser.
	RunAsUser Scope = "pods with runAsUser"
)

// Defect is a fault of a program of Kubernetes on Windows.
type Defect struct {
	// Name is a CVE or a few words.
	Name string
	// CVE is set for a defect that an attacker can exploit.
	CVE bool
	// From is the first minor that has it.
	From int
	// Fixed are the first releases without it, one per minor, newest first. A minor that is older than all of them has it.
	Fixed []Release
	Scope Scope
	// Program has the defect, Why describes it.
	Program, Why, Source string
}

// Has reports whether a release has the defect. A nil patch is the last one of its minor, and a
// minor of zero the newest release.
func (d Defect) Has(minor int, patch *int) bool {
	if minor == 0 || minor < d.From {
		return false
	}
	oldest := d.Fixed[0].Minor
	for _, f := range d.Fixed {
		if f.Minor == minor {
			return patch != nil && *patch < f.Patch
		}
		oldest = min(oldest, f.Minor)
	}
	return minor < oldest
}

// Fix returns the release that a cluster of a minor takes to be rid of the defect: of its own
// minor where there is one, else the next higher.
func (d Defect) Fix(minor int) Release {
	fix := d.Fixed[0]
	for _, f := range d.Fixed {
		if f.Minor >= minor {
			fix = f
		}
	}
	return fix
}

// Defects returns all rows, in the order of the table.
func Defects() []Defect { return slices.Clone(defects) }

// Behaviour is a change in the behaviour of Windows nodes that has no setting.
type Behaviour struct {
	From              int
	What, Why, Source string
}
