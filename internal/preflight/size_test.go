package preflight

import (
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestSizes: each size in Azure's list is accepted; any other is refused, with a suggestion of similar names.
func TestSizes(t *testing.T) {
	set := manifest(t, nil, "")
	plan := read(t, set)
	facts, err := Ask(t.Context(), emulated(t), "test", plan)
	if err != nil {
		t.Fatal(err)
	}
	c := plan.Clusters[0]
	rules := slices.DeleteFunc(Rules(plan, facts), func(r lint.Rule) bool { return r.ID != "PRE111" })
	// messages returns the findings about the cluster's machines if all have a size.
	messages := func(size string) []lint.Finding {
		for _, m := range c.Machines {
			m.Spec.VMSize = size
		}
		return lint.Run(set, rules, lint.Target{})
	}
	listed := facts.of(c).region(c).sizes
	if len(listed) < 1370 {
		t.Errorf("the location lists %d sizes", len(listed))
	}
	for _, sku := range listed {
		for _, f := range messages(sku.Name) {
			if sku.VCPUs() > 0 && strings.Contains(f.Message, "is not offered in") {
				t.Errorf("%s: %s", sku.Name, f.Message)
			}
		}
	}
	unknown := messages("Standard_Foo")
	if len(unknown) == 0 || !strings.Contains(unknown[0].Message, "Standard_Foo is not offered in westeurope") ||
		!strings.Contains(unknown[0].Fix, "such as Standard_F") {
		t.Errorf("Standard_Foo: %+v", unknown)
	}
}
