package repair

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// TestPage writes docs/reference/repairs.md with -update.
func TestPage(t *testing.T) {
	text := "<!-- made by make generate -->\n# Repairs in place\n\nWhat the addon " +
		"`windows-node-repair` and `casement doctor --fix` repair on a " +
		"Windows node without replacing it: [Repair](../repair.md#in-place). The reason is that of the events and of the condition `" +
		Condition + "`.\n\n" + Page()
	golden.Compare(t, "../../docs/reference/repairs.md", []byte(text))
}

// TestRepairs checks that each row has the texts for the script and the page, and sensible limits.
func TestRepairs(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Repairs() {
		if r.Fault == "" || r.Does == "" || r.Look == "" || r.Step == "" || !strings.HasPrefix(r.Source, "https://") {
			t.Errorf("%s lacks something: %+v", r.Name, r)
		}
		if r.Times < 1 || r.Times > 5 || r.Minutes < 10 || seen[r.Name] {
			t.Errorf("%s is run %d times in %d minutes, or is there twice", r.Name, r.Times, r.Minutes)
		}
		if hns := strings.Contains(r.Step, "hns") || strings.Contains(r.Step, "kube-proxy"); hns != r.Breaks {
			t.Errorf("%s restarts HNS or kube-proxy: %t, and says that it breaks connections: %t", r.Name, hns, r.Breaks)
		}
		if found, ok := Find(r.Cause); r.Cause != "" && (!ok || found.Name != r.Name) {
			t.Errorf("cause %s leads to %s", r.Cause, found.Name)
		}
		seen[r.Name] = true
	}
	if _, ok := Find(""); ok {
		t.Error("no cause has a repair")
	}
}
