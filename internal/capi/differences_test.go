package capi

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// TestDifferences checks that the page about Cluster API has all differences from upstream, and that their tests exist.
func TestDifferences(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Cluster API on the local plane

Made from internal/capi/differences.go by ` + "`go test ./internal/capi -update`" + `.

The local plane runs Cluster API's own managers from its module, in one process with everything else. So that a cluster is quick
on a machine with two processors, they differ from what upstream ships in the points below, and in nothing else but the wiring:
no leader election, metrics or probes. ` + "`casement up --upstream`" + ` runs them without these differences,
` + "`casement status`" + ` says which is on, and ` + "`make e2e-capi`" + ` runs Cluster API's own specs in both.
casement-manager in production is beside a Cluster API that is as upstream ships it.

| what differs | why | why it is safe | test |
|---|---|---|---|
`)
	for _, d := range Differences() {
		fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", d.What, d.Why, d.Safe, d.Test)
	}
	golden.Compare(t, "../../docs/design/cluster-api.md", []byte(page.String()))

	var tests strings.Builder
	for _, dir := range []string{".", "../queue"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}
	for _, d := range Differences() {
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(d.Test, -1) {
			if !strings.Contains(tests.String(), "func "+name+"(") {
				t.Errorf("%q names the test %s, which does not exist", d.What, name)
			}
		}
	}
}
