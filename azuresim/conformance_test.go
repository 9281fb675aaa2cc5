package azuresim

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
	"casement.dev/casement/internal/testing/golden"
)

const (
	conformancePage = "../docs/local-azure.md"
	evidenceFile    = "../test/emulator/az/evidence.tsv"
)

// TestConformanceTable compares the table of the documentation with the emulated types and with the
// recorded successes of az.
func TestConformanceTable(t *testing.T) {
	page, err := os.ReadFile(conformancePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), "<!-- conformance -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- end -->")
	if !ok || !ok2 {
		t.Fatal(conformancePage + " has lost the markers of its table")
	}
	proved, err := readEvidence()
	if err != nil {
		t.Fatal(err)
	}
	want := before + "<!-- conformance -->\n" +
		conformanceTable(engine.NewRegistry(providers(Config{})).Types, proved) + "<!-- end -->" + after
	golden.Compare(t, conformancePage, []byte(want))
}

// readEvidence returns the requests of az that succeeded, as "type verb" in lower case.
func readEvidence() (map[string]bool, error) {
	data, err := os.ReadFile(evidenceFile)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) == 4 && f[2] != "0" {
			out[value.Lower(f[0])+" "+f[1]] = true
		}
	}
	return out, nil
}

func conformanceTable(all map[string]*engine.Type, proved map[string]bool) string {
	var b strings.Builder
	b.WriteString("| resource type | PUT | PATCH | GET | DELETE | children inside (w: written singly) |\n|---|---|---|---|---|---|\n")
	for _, key := range value.SortedKeys(all) {
		k := all[key]
		if k.Internal {
			continue
		}
		fmt.Fprintf(&b, "| %s |", k.Name)
		for _, verb := range []string{http.MethodPut, http.MethodPatch, http.MethodGet, http.MethodDelete} {
			mark := "○"
			switch {
			case proved[key+" "+verb]:
				mark = "●"
			case readOnly(k, verb):
				mark = "—"
			}
			b.WriteString(" " + mark + " |")
		}
		var parts []string
		if k.Kept {
			parts = append(parts, "kept without effect")
		}
		for _, p := range value.SortedKeys(k.Parts) {
			if k.Parts[p] {
				p += " (w)"
			}
			if proved[key+"/"+value.Lower(strings.TrimSuffix(p, " (w)"))+" "+http.MethodPut] {
				p += " ●"
			}
			parts = append(parts, p)
		}
		slices.Sort(parts)
		b.WriteString(" " + strings.Join(parts, ", ") + " |\n")
	}
	return b.String()
}

// readOnly reports whether a type always refuses a verb.
func readOnly(k *engine.Type, verb string) bool {
	read := []string{"Microsoft.Authorization/denyAssignments", "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces"}
	return slices.Contains(read, k.Name) && verb != http.MethodGet ||
		k.Name == "Microsoft.Resources/deployments" && verb == http.MethodPatch ||
		k.Name == "Microsoft.Network/privateDnsZones/SOA" && verb == http.MethodDelete
}
