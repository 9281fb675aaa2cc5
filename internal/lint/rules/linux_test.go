package rules

import (
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestLinuxIsLeftAlone: the rules find nothing in manifests with all settings that Windows forbids, if they are for
// Linux or for no particular OS.
func TestLinuxIsLeftAlone(t *testing.T) {
	set, errs := lint.Read([]string{"testdata/linux"}, lint.Options{})
	if len(errs) > 0 || len(set.Pods) < 40 {
		t.Fatalf("%d pods, %v", len(set.Pods), errs)
	}
	for _, minor := range []int{0, 20, 25, 30, 34, 36} {
		for _, windows := range [][]string{nil, {"2019"}, {"2022", "2025"}} {
			for _, f := range lint.Run(set, All(), lint.Target{Minor: minor, Windows: windows}) {
				t.Errorf("1.%d, %v: %s:%d: %s %s: %s", minor, windows, f.File, f.Line, f.Rule, f.Path, f.Message)
			}
		}
	}
}

// TestLinuxHasWhatIsLookedFor: the manifests of TestLinuxIsLeftAlone have many findings if they are read as manifests
// for Windows.
func TestLinuxHasWhatIsLookedFor(t *testing.T) {
	set, errs := lint.Read([]string{"testdata/linux"}, lint.Options{AssumeWindows: true})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rules := map[string]bool{}
	for _, f := range lint.Run(set, All(), lint.Target{}) {
		rules[f.Rule] = true
	}
	if len(rules) < 40 {
		t.Errorf("as Windows ones they meet %d rules alone", len(rules))
	}
}
