package preflight

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestClusterAPISupport compares the versions that PRE309 accepts with the table in Cluster API's own documentation.
func TestClusterAPISupport(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	capi := ClusterAPI()
	version, root, _ := strings.Cut(strings.TrimSpace(string(dir)), " ")
	if !strings.HasPrefix(version, capi.Release+".") {
		t.Errorf("go.mod has %s, and the table is of %s", version, capi.Release)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/book/src/reference/versions.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "### Core provider")
	column := -1
	var minors []uint
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		switch {
		case column < 0:
			column = slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) == capi.Release })
			continue
		case !strings.HasPrefix(line, "|"):
		default:
			minor := regexp.MustCompile(`Kubernetes v1\.(\d+)`).FindStringSubmatch(cells[1])
			if minor == nil || !strings.Contains(cells[column], "✓") {
				continue
			}
			n, err := strconv.ParseUint(minor[1], 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			minors = append(minors, uint(n))
			continue
		}
		break
	}
	if len(minors) == 0 || slices.Min(minors) != capi.Oldest || slices.Max(minors) != capi.Newest {
		t.Errorf("Cluster API supports 1.%v, and PRE309 has 1.%d to 1.%d", minors, capi.Oldest, capi.Newest)
	}
}
