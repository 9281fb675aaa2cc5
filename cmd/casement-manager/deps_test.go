package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// TestDeps keeps the manager lean: every package that it links is in deps.txt, so that a new one shows in
// review, and some are forbidden.
func TestDeps(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		for forbidden, why := range map[string]string{
			"casement.dev/casement/internal/sim":          "the provider and the simulator meet only on the wire",
			"casement.dev/casement/internal/plane":        "the local plane is not for production",
			"casement.dev/casement/internal/controlplane": "a manager runs no control plane",
			"k8s.io/kubernetes":                           "it is 80 MB that only casement-kube needs",
			"go.etcd.io":                                  "a manager speaks to API servers only",
		} {
			if pkg := strings.TrimSpace(line); pkg == forbidden || strings.HasPrefix(pkg, forbidden+"/") {
				t.Errorf("links %s: %s", pkg, why)
			}
		}
	}
	// Sorted, because the order of go list follows the imports of everything below.
	have := slices.Sorted(strings.FieldsSeq(string(out)))
	golden.Compare(t, "deps.txt", []byte(strings.Join(have, "\n")+"\n"))
}
