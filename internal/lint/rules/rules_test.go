package rules

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"casement.dev/casement/internal/lint"
)

// TestExamples: each rule has a finding in its bad example, none in its good one, and none after its own
// fix.
func TestExamples(t *testing.T) {
	id := regexp.MustCompile(`^(WIN|K8S)[0-9]{3}$`)
	seen := map[string]bool{}
	for _, r := range All() {
		t.Run(r.ID, func(t *testing.T) {
			if !id.MatchString(r.ID) || seen[r.ID] || r.Title == "" || r.Doc == "" || r.Oracle == "" || r.Severity == 0 {
				t.Errorf("incomplete, or its ID is taken: %+v", r)
			}
			seen[r.ID] = true
			bad := run(t, r, r.Bad)
			if len(bad) == 0 {
				t.Fatalf("does not find its bad example:\n%s", r.Bad)
			}
			if good := run(t, r, r.Good); len(good) > 0 {
				t.Errorf("finds its good example: %+v", good)
			}
			fixed, made := lint.ApplyFixes("example", []byte(r.Bad), bad)
			if fixable := slices.ContainsFunc(bad, lint.Finding.Fixable); fixable != (made > 0) {
				t.Fatalf("made %d fixes of its bad example:\n%s", made, r.Bad)
			}
			if made > 0 {
				if again := run(t, r, string(fixed)); len(again) > 0 {
					t.Errorf("finds what it fixed: %s\n%s", again[0].Message, fixed)
				}
			}
		})
	}
}

func run(t *testing.T, r lint.Rule, text string) []lint.Finding {
	t.Helper()
	set, errs := lint.Parse("example", []byte(text), lint.Options{})
	if len(errs) > 0 {
		t.Fatalf("the example cannot be read: %v\n%s", errs, text)
	}
	target := r.For
	target.Minor = cmp.Or(target.Minor, 37)
	return lint.Run(set, []lint.Rule{r}, target)
}

// TestCatalogue: the rules are exactly those of the catalogue; rules about input that Kubernetes cannot
// parse are separate.
func TestCatalogue(t *testing.T) {
	data, err := os.ReadFile("testdata/catalogue.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range All() {
		if strings.HasPrefix(r.ID, "WIN") {
			got = append(got, r.ID)
		}
	}
	if diff := gocmp.Diff(strings.Fields(string(data)), got); diff != "" {
		t.Error(diff)
	}
}
