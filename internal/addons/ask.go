package addons

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Find returns the addon with a name.
func Find(name string) (Addon, error) {
	var known []string
	for _, a := range All() {
		if a.Name == name {
			return a, nil
		}
		known = append(known, a.Name)
	}
	return Addon{}, fmt.Errorf("no addon is called %q; there are %s", name, strings.Join(known, ", "))
}

// Asked reports whether a Cluster with these labels gets the addon.
func (a Addon) Asked(labels map[string]string) bool {
	return slices.ContainsFunc(a.Selectors, func(selector map[string]string) bool {
		for key, value := range selector {
			if labels[key] != value {
				return false
			}
		}
		return true
	})
}

// Ask returns the labels that a Cluster lacks to get the addon; none if the Cluster gets it already. It takes the first
// selector that contradicts none of the Cluster's labels. It fails if all selectors contradict them, because an
// operator chose another addon by such a label.
func (a Addon) Ask(labels map[string]string) (map[string]string, error) {
	if a.Asked(labels) {
		return nil, nil
	}
	var contradicted string
	for _, selector := range a.Selectors {
		missing := maps.Clone(selector)
		conflict := false
		for key, value := range selector {
			switch have, some := labels[key]; {
			case have == value:
				delete(missing, key)
			case some:
				conflict, contradicted = true, key+"="+have
			}
		}
		if !conflict {
			return missing, nil
		}
	}
	return nil, fmt.Errorf("the Cluster's label %s contradicts addon %s; take the label off to choose again", contradicted, a.Name)
}
