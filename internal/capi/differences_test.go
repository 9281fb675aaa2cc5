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

// measured are the measurements by which the differences were chosen.
const measured = `
## What they were judged by

Seconds until a cluster with so many Windows nodes is Ready, seconds of a processor, and memory, by the
scale measurement of ` + "`test/bench`" + ` on two quiet cores (on a slow day of theirs: the ratios hold, not the seconds):

| Cluster API | 2 nodes | 50 nodes | 400 nodes |
|---|---|---|---|
| as upstream ships it | 43 s, 33 s | 287 s, 393 s, 2.9 GiB | |
| with these differences | 20 to 21 s, 22 to 27 s | 51 s, 84 s, 2.6 GiB | 378 s, 649 s, 5.2 GiB |
| and with five more | 20 to 21 s, 22 to 27 s | 48 to 52 s, 78 to 84 s, 2.4 GiB | 391 s, 685 s, 4.7 GiB |

The five more, which are gone, were a rest of each object after a pass, one cache for the three managers, no pass over the machines of a
set whose status alone changes, lists of nodes that are not copied, and kinds read from the cache. Each alone seemed to buy a twelfth;
all together buy no more than one run differs from the next, but for a tenth of the memory.

A sixth, a pass over the bootstrap data of pools as soon as their control plane is initialized, is gone as well: the spec of pools
takes 43 s without it and 54 s with it, beside other work. The event of a connection to the cluster triggers that pass.

Upstream's gate in place of the first difference, with all others, has two thirds of what they buy: less than the four fifths for which
it would be worth having. The gate's pace is a pass a second, and it cannot be set.
`

// TestDifferences checks that the page about Cluster API has all differences from upstream, and that their tests exist.
func TestDifferences(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Cluster API on the local plane

Made from internal/capi/differences.go by ` + "`go test ./internal/capi -update`" + `.

The local plane runs Cluster API's own managers from its module, in one process with everything else. So that a cluster is quick
on a machine with two processors, they differ from what upstream ships in the points below, and in nothing else but the wiring:
no leader election, metrics or probes; numbers of workers and limits of requests for a small machine; ClusterClass and
Ignition on. ` + "`casement up --upstream`" + ` runs them without these differences,
` + "`casement status`" + ` says which is on, and ` + "`make e2e-capi`" + ` runs Cluster API's own specs in both.
casement-manager in production is beside a Cluster API that is as upstream ships it.

| what differs | why | why it is safe | test | without it |
|---|---|---|---|---|
`)
	for _, d := range Differences() {
		fmt.Fprintf(&page, "| %s | %s | %s | %s | %s |\n", d.What, d.Why, d.Safe, d.Test, d.Buys)
	}
	page.WriteString(measured)
	golden.Compare(t, "../../docs/design/cluster-api.md", []byte(page.String()))

	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	for _, d := range Differences() {
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(d.Test, -1) {
			if !strings.Contains(tests.String(), "func "+name+"(") {
				t.Errorf("%q names the test %s, which does not exist", d.What, name)
			}
		}
	}
}
