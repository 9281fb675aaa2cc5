// Package kubechange is one table of the changes of Kubernetes' minor versions for Windows nodes: settings of the
// kubelet that Windows refuses or ignores, feature gates, versions of kubeadm's configuration, fields of pods without
// effect, defects with the releases that fix them. Each row names its source.
//
// It has facts and does not judge manifests. It uses no client, and imports only the standard library. Packages
// internal/lint/rules and internal/preflight import it; the simulator has its own facts.
package kubechange

import (
	"fmt"
	"slices"
	"strings"
)

// First and Newest are the oldest and the newest minor version that the table covers.
const (
	First  = 31
	Newest = 37
)

// Effect is the effect of a setting on Windows.
type Effect string

// Effects.
const (
	// Refused means that the program exits at its start, or that kubeadm stops.
	Refused Effect = "refused"
	// Ignored means that the setting has no effect.
	Ignored Effect = "ignored"
	// Harmful means that the setting is accepted, and that pods or the node are damaged by it.
	Harmful Effect = "harmful"
)

// Span is the minor versions from From on and before Until; zero means no bound.
type Span struct{ From, Until int }

// Holds reports whether a minor version is in the span. Zero means the newest.
func (s Span) Holds(minor int) bool {
	if minor == 0 {
		return s.Until == 0
	}
	return minor >= s.From && (s.Until == 0 || minor < s.Until)
}

// String describes the minor versions.
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
	// Path is the path of the field, with dots.
	Path string
	// Flag is the kubelet's flag with the same meaning, or "".
	Flag string
	// Value is the only value that the row is for, or its prefix followed by *; "" means any value that is not in Harmless.
	Value string
	// Harmless are the values without an effect.
	Harmless []string
	Effect   Effect
	// Unless is a feature gate that removes the effect if it is on.
	Unless string
	// Usual is true for a setting that kubeadm writes into every configuration, or that it corrects on Windows itself:
	// it is only reported if the configuration is only for Windows.
	Usual bool
	// Why completes the sentence "the kubelet on Windows ...".
	Why, Source string
}

// SettingsAt returns the rows for a minor version.
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

// Gate is a feature gate that is relevant for Windows.
type Gate struct {
	Name string
	// Known are the minor versions whose components know the gate; others exit at their start.
	Known Span
	// On is the first minor version in which the gate is on by default; Locked is the first whose components exit if it
	// is switched off; Inert is the first in which it has no effect. Zero means none.
	On, Locked, Inert int
	// Linux is true if the gate has no effect on Windows.
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

// Problem returns the problem of a gate with a value in a minor version, or "". refused is true if the component exits
// at its start.
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

// since reports whether a minor version is at least first; zero in first means never.
func since(first, minor int) bool { return first > 0 && (minor == 0 || minor >= first) }

// Config is a version of kubeadm's configuration files.
type Config struct {
	Span
	// Version is the version of the group kubeadm.k8s.io.
	Version, Source string
}

// ConfigVersion returns the minor versions whose kubeadm reads a version of its configuration; ok is false if there is none.
func ConfigVersion(version string) (c Config, ok bool) {
	i := slices.IndexFunc(configs, func(c Config) bool { return c.Version == version })
	if i < 0 {
		return Config{}, false
	}
	return configs[i], true
}

// Features returns the minor versions whose kubeadm knows one of its own feature gates.
func Features(name string) (Span, bool) {
	s, ok := features[name]
	return s, ok
}

// Field is a field of a pod's volumes or mounts that has no effect on Windows.
type Field struct {
	// From is the first minor version with the field.
	From int
	// At is the field's path in a pod, with [] for list items.
	At          string
	Why, Source string
}

// Fields returns all rows for fields.
func Fields() []Field { return slices.Clone(fields) }

// Release is a release of Kubernetes: 1.Minor.Patch.
type Release struct{ Minor, Patch int }

// String returns the release as a version.
func (r Release) String() string { return fmt.Sprintf("1.%d.%d", r.Minor, r.Patch) }

// Scope is the set of Windows nodes or pods that a defect affects.
type Scope string

// Scopes.
const (
	// Everywhere is every Windows node.
	Everywhere Scope = "every Windows node"
	// SubPaths is containers with more than one mount of a subPath.
	SubPaths Scope = "containers with several subPaths"
	// DualStack is Services with two IP families.
	DualStack Scope = "Services with two IP families"
	// Bridge is networks of the type L2Bridge.
	Bridge Scope = "L2Bridge networks"
	// LocalTraffic is Services with internalTrafficPolicy Local.
	LocalTraffic Scope = "Services with internalTrafficPolicy Local"
	// RunAsUser is pods with runAsUser.
	RunAsUser Scope = "pods with runAsUser"
)

// Defect is a fault of a program of Kubernetes on Windows.
type Defect struct {
	// Name is a CVE or a short description.
	Name string
	// CVE is true for a defect that an attacker can exploit.
	CVE bool
	// From is the first minor version with the defect.
	From int
	// Fixed are the first releases without the defect, one per minor version, newest first. Minor versions that are
	// older than all of them have the defect.
	Fixed []Release
	Scope Scope
	// Program has the defect, and Why describes it.
	Program, Why, Source string
}

// Has reports whether a release has the defect. A nil patch is the last one of its minor version, and a minor of zero
// is the newest release.
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

// Fix returns the release without the defect to which a cluster of a minor version can be upgraded: of the same minor
// version if there is one, otherwise of the next higher one.
func (d Defect) Fix(minor int) Release {
	fix := d.Fixed[0]
	for _, f := range d.Fixed {
		if f.Minor >= minor {
			fix = f
		}
	}
	return fix
}

// Defects returns all rows for defects, in the order of the table.
func Defects() []Defect { return slices.Clone(defects) }
