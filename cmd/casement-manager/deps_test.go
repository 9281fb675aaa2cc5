package main

import (
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite deps.txt")

// TestDeps holds the manager lean: every package that it links is in deps.txt, so
// that a new one shows in review, and some must never be.
func TestDeps(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		for forbidden, why := range map[string]string{
			"casement.dev/casement/internal/sim":          "the provider and the simulator meet only on the wire",
			"casement.dev/casement/internal/local":        "the local plane is not for production",
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
	if *update {
		if err := os.WriteFile("deps.txt", []byte(strings.Join(have, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("deps.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Fields(string(want)), have); diff != "" {
		t.Errorf("the manager links other packages than deps.txt says; if that is meant, run the test with -update (-want +got):\n%s", diff)
	}
}
