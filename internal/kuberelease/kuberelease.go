// Package kuberelease has the default release of Kubernetes: in templates, addons, examples and messages. `make
// bump-k8s` changes it together with go.mod; a test in the root package compares both and finds other places.
//
// It has two constants. It does not describe the features of a release (the rules of lint and the tables of addons and
// images do), and the simulator, which has its own release, must not import it.
package kuberelease

import "strings"

const (
	// Default is the release in go.mod, and the release of a cluster that names none.
	Default = "v1.37.2"
	// Previous is a release of the previous minor version, from which examples and tests upgrade.
	Previous = "v1.36.3"
)

// Minor returns the minor version of Default, such as 1.37.
func Minor() string {
	version := strings.TrimPrefix(Default, "v")
	return version[:strings.LastIndex(version, ".")]
}

// Choice returns the accepted forms of a release in a flag or a file: "1.37 or 1.37.2".
func Choice() string { return Minor() + " or " + strings.TrimPrefix(Default, "v") }
