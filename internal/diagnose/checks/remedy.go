package checks

import (
	"strings"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
)

// Object runs the checks over a snapshot and keeps the findings that concern an object.
func Object(s *facts.Snapshot, o facts.Object) []Result {
	return Examine(s, walk.Concerns(s, o))
}

// Remedy is PowerShell that repairs a node and has no other effect.
type Remedy struct {
	// Check is the ID of the check whose finding needs the remedy.
	Check string
	// Node is the name of the node that the remedy is for.
	Node   string
	Script string
	// Breaks is true if the remedy breaks connections.
	Breaks bool
}

// Remedies returns the remedies of findings about nodes, each once.
func Remedies(results []Result) (remedies []Remedy) {
	listed := map[string]bool{}
	for _, r := range results {
		for _, f := range r.Findings {
			node, isNode := strings.CutPrefix(f.At, "Node/")
			if f.Remedy == "" || !isNode || listed[node+f.Remedy] {
				continue
			}
			listed[node+f.Remedy] = true
			remedies = append(remedies, Remedy{Check: r.ID, Node: node, Script: f.Remedy, Breaks: f.Breaks})
		}
	}
	return remedies
}
