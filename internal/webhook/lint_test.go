package webhook

import (
	"slices"
	"strings"
	"testing"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
)

// TestLintAgrees: the rule about names of clusters finds exactly the names that the webhook refuses.
func TestLintAgrees(t *testing.T) {
	all := rules.All()
	rule := all[slices.IndexFunc(all, func(r lint.Rule) bool { return r.ID == "WIN805" })]
	refused := 0
	for _, name := range []string{"demo", "d1", "d", "Demo", "demo-", "-demo", "a.b", "a_b", "1a", "x--y",
		strings.Repeat("a", 44), strings.Repeat("a", 45)} {
		c := cluster(t, func(c *infrav1.AzureCluster) { c.Name = name })
		errs := validateCluster(nil, c)
		set, unread := lint.Parse("cluster", []byte("apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n"+
			"kind: AzureCluster\nmetadata:\n  name: "+name+"\n"), lint.Options{})
		if len(unread) > 0 {
			t.Fatal(unread)
		}
		findings := lint.Run(set, []lint.Rule{rule}, lint.Target{})
		if len(errs) != len(findings) || len(errs) == 1 && errs[0].Field != findings[0].Path {
			t.Errorf("%s: the webhook says %v, the rule %v", name, errs, findings)
		}
		refused += len(errs)
	}
	if refused == 0 {
		t.Error("no name is refused")
	}
}
