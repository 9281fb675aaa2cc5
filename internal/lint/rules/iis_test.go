package rules

import (
	"os"
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestIIS: in a manifest that is often copied, both memory fields are found, and fixing changes only these two words.
func TestIIS(t *testing.T) {
	text, err := os.ReadFile("testdata/iis.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set, errs := lint.Parse("iis.yaml", text, lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	findings := lint.Run(set, All(), lint.Target{})
	const resources = "spec.template.spec.containers[0].resources."
	for _, path := range []string{resources + "limits.memory", resources + "requests.memory"} {
		found := false
		for _, f := range findings {
			found = found || f.Rule == "WIN201" && f.Path == path && f.Fixable()
		}
		if !found {
			t.Errorf("WIN201 does not find %s", path)
		}
	}
	fixed, made := lint.ApplyFixes("iis.yaml", text, findings)
	want := strings.NewReplacer("memory: 800m", "memory: 800Mi", "memory: 300m", "memory: 300Mi").Replace(string(text))
	if made != 2 || string(fixed) != want {
		t.Errorf("made %d fixes:\n%s", made, fixed)
	}
}

// TestGuideRequestFix: the fix for the guide's thousandths of bytes is not in thousandths again.
func TestGuideRequestFix(t *testing.T) {
	set, errs := lint.Parse("pod", []byte(withLimits("memory: 800m")+"      requests:\n        memory: 300m\n"), lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, f := range lint.Run(set, All(), lint.Target{}) {
		if f.Rule == "WIN205" && !strings.Contains(f.Fix, "800Mi") {
			t.Errorf("fix %q", f.Fix)
		}
	}
}
