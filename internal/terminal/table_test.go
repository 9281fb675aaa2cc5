package terminal

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"casement.dev/casement/internal/testing/golden"
)

// tables are rows like those that commands print.
var tables = map[string]string{
	"prose": "STUB\tDOES\nazure-cni\twrites the CNI configuration of azure-vnet; pods then have addresses of " +
		"the node's interface\nidle\truns and does nothing\n",
	"names": "VERB\tRESOURCE TYPE\tSTATUS\tCALLER\tCALLS\n" +
		"GET\tMicrosoft.Compute/locations/communityGalleries/images/versions\t200\tcasement\t2\n" +
		"GET\toperations\t200\tGo-http-client/1.1\t22\n",
	"headers": "SIMULATED VM\tOS\tPHASE\tADDRESS\tON THIS MACHINE\tIMAGE HOLDS\tREALLY RUNS\n" +
		"demo-control-plane-cc7nx\tLinux\tRunning\t10.0.0.4\t127.37.0.4\tv1.36.3\tv1.36.3\n" +
		"demo-md-w-65x9m\tWindows\tRunning\t10.1.0.6\t127.1.0.6\tv1.36.3\t\n" +
		"\tits guest has ended: the boot agent found no user data, which a machine of this image cannot do without\n",
	"pairs": "Plane\tready\tprocess 25179, since 2026-11-22 21:09:08\n" +
		"Kubeconfig\t/home/somebody/.local/state/casement/kubeconfig\n\n" +
		"A line without cells that has more words than there is room for.\n",
	"tree": "OBJECT\tREADY\tDETAIL\nCluster/demo\tTrue\tProvisioned\n" +
		"├─KubeadmControlPlane/demo-control-plane\tTrue\tv1.36.3\n" +
		"│ └─Machine/demo-control-plane-cc7nx\tTrue\tnode demo-cont…\n",
}

func TestTable(t *testing.T) {
	for name, rows := range tables {
		for _, width := range []int{0, 60, 80, 200} {
			t.Run(fmt.Sprintf("%s-%d", name, width), func(t *testing.T) {
				var out bytes.Buffer
				table := NewTable(&out, width)
				if _, err := io.WriteString(table, rows); err != nil {
					t.Fatal(err)
				}
				if err := table.Flush(); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(out.String()) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, " \n")); width > 0 && n > width {
						t.Errorf("a line has %d columns of %d: %q", n, width, line)
					}
				}
				golden.Compare(t, filepath.Join("testdata", "tables", t.Name()[len("TestTable/"):]+".txt"), out.Bytes())
			})
		}
	}
}

// FuzzTable: no rows break the layout, and nothing is lost if there is enough room.
func FuzzTable(f *testing.F) {
	for _, rows := range tables {
		f.Add(rows, 60)
	}
	f.Add("\t\n\t\t\n", 1)
	f.Fuzz(func(t *testing.T, rows string, width int) {
		var out bytes.Buffer
		table := NewTable(&out, width%300)
		_, _ = io.WriteString(table, rows)
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
	})
}
