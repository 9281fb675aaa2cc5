package rules

import (
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/windows"
)

// TestPodFields: lint has a rule for each field that Windows does not accept, and the rule states that a node refuses
// the field only if the kubelet does.
func TestPodFields(t *testing.T) {
	rows := fields()
	for _, fact := range windows.PodFields() {
		i := slices.IndexFunc(rows, func(f field) bool { return f.path == fact.Path })
		if i < 0 {
			t.Errorf("no rule for %s", fact.Path)
			continue
		}
		f := rows[i]
		rows = slices.Delete(rows, i, i+1)
		if says := strings.Contains(f.without, "refuses the pod"); says != (fact.Reason != "") || !strings.Contains(f.without, fact.Reason) {
			t.Errorf("%s: the rule says %q, and a kubelet refuses with %q", fact.Path, f.without, fact.Reason)
		}
		// A privileged container runs, but without its privileges.
		if refused := f.refused != nil; refused != (fact.Reason != "" || fact.Path == "C.securityContext.privileged") {
			t.Errorf("%s: the rule has an error without an OS: %v, and a kubelet refuses with %q", fact.Path, refused, fact.Reason)
		}
		if !strings.Contains(f.without, fact.Value) {
			t.Errorf("%s: the rule says %q, and a kubelet refuses %s", fact.Path, f.without, fact.Value)
		}
	}
	for _, f := range rows {
		t.Errorf("%s: no fact about %s", f.id, f.path)
	}
}
