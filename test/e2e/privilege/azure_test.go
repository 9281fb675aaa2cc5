package privilege

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/azure/permission"
	"casement.dev/casement/internal/testing/plane"
)

// calls returns the actions that the local Azure has seen casement-manager use.
func calls(t *testing.T, p *plane.Plane) []string {
	t.Helper()
	var log struct {
		Counters []struct {
			Verb, Type, Caller string
		}
	}
	if err := json.Unmarshal([]byte(p.Run(nil, "calls", "-o", "json")), &log); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range log.Counters {
		if c.Caller == "casement" && c.Type != "operations" {
			out = append(out, permission.Of(c.Verb, c.Type))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// actions returns the listed actions of features, or of all features if none is named; with an
// evidence, only the actions that have it.
func actions(t *testing.T, evidence permission.Evidence, features ...string) []string {
	t.Helper()
	list, err := permission.Actions(features...)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range list {
		if evidence == "" || a.Evidence == evidence {
			out = append(out, strings.ToLower(a.Name))
		}
	}
	return out
}

// checkGranted checks that an identity with the roles of these features could make all calls until
// now.
func checkGranted(t *testing.T, p *plane.Plane, features ...string) {
	t.Helper()
	have := actions(t, "", features...)
	for _, a := range calls(t, p) {
		if !slices.Contains(have, strings.ToLower(a)) {
			t.Errorf("%s was used with the features %s alone, whose role lacks it", a, strings.Join(features, ", "))
		}
	}
}

// checkUsed checks that every listed action whose evidence is a call has been used.
func checkUsed(t *testing.T, p *plane.Plane) {
	t.Helper()
	used := calls(t, p)
	for _, a := range actions(t, permission.Call) {
		if !slices.ContainsFunc(used, func(u string) bool { return strings.EqualFold(u, a) }) {
			t.Errorf("%s is listed and no call used it", a)
		}
	}
}
