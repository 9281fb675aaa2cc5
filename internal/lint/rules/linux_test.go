package rules

import (
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestLinuxIsLeftAlone: manifests with all that Windows forbids, but for Linux or
// for no OS in particular, are no affair of these rules.
func TestLinuxIsLeftAlone(t *testing.T) {
	set, errs := lint.Read([]string{"testdata/linux"}, lint.Options{})
	if len(errs) > 0 || len(set.Pods) < 3 {
		t.Fatalf("%d pods, %v", len(set.Pods), errs)
	}
	for _, f := range lint.Run(set, All(), lint.Target{}) {
		t.Errorf("%s:%d: %s %s: %s", f.File, f.Line, f.Rule, f.Path, f.Message)
	}
}
