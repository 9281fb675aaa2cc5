// Package kuberelease has the release of Kubernetes that casement uses where the user names none: in
// templates, addons, examples and messages. `make bump-k8s` changes it together with go.mod, and a test of
// the root compares both and finds other places.
//
// It is two constants. It refuses to know the features of a release (the rules of lint, the tables of
// addons and images know those), and to be imported by the simulator, which has a release of its own.
package kuberelease

import "strings"

const (
	// Default is the release that go.mod names, and of a cluster that names none.
	Default = "v1.37.2"
	// Previous is a release of the minor before, from which examples and tests upgrade.
	Previous = "v1.36.3"
)

// Minor returns the Default without its patch: 1.37.
func Minor() string {
	version := strings.TrimPrefix(Default, "v")
	return version[:strings.LastIndex(version, ".")]
}

// Choice returns the forms of a release in a flag or a file: "1.37 or 1.37.2".
func Choice() string { return Minor() + " or " + strings.TrimPrefix(Default, "v") }
