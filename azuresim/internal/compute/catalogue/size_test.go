package catalogue

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/capabilities.tsv
var capabilitiesTSV string

// unruled are capabilities that do not follow from a rule, and UltraSSDAvailable, which UltraDisks
// computes.
var unruled = []string{
	"ACUs", "MemoryPreservingMaintenanceSupported", "CapacityReservationSupported",
	"MaxWriteAcceleratorDisksAllowed", "RetirementDateUtc",
	"CombinedTempDiskAndCachedIOPS", "CombinedTempDiskAndCachedReadBytesPerSecond",
	"CombinedTempDiskAndCachedWriteBytesPerSecond", "UncachedDiskIOPS",
	"UncachedDiskBytesPerSecond", "NvmeSizePerDiskInMiB", "NvmeMaxReadIops", "NvmeMaxWriteIops",
	"NvmeMaxReadBytesPerSecond", "NvmeMaxWriteBytesPerSecond",
	"UltraSSDAvailable", "VMDeploymentTypes", "vCPUsPerCore",
}

// TestCapabilities compares the computed capabilities with those in Azure's recorded
// answers.
func TestCapabilities(t *testing.T) {
	type row struct {
		name, family string
		said         map[string]string
	}
	rows := mustRead(capabilitiesTSV, 4, func(f []string) (row, error) {
		r := row{f[0], f[1], map[string]string{}}
		for pair := range strings.SplitSeq(f[3], ";") {
			name, v, _ := strings.Cut(pair, "=")
			r.said[name] = v
		}
		return r, nil
	})
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s, _ := SizeNamed(r.name)
			if s.Family != r.family {
				t.Errorf("family %q, Azure says %q", s.Family, r.family)
			}
			if got, want := boolean(s.UltraDisks()), r.said["UltraSSDAvailable"]; got != want && (want != "" || got == "True") {
				t.Errorf("UltraSSDAvailable is %s, Azure says %q", got, want)
			}
			derived := map[string]string{}
			for _, c := range s.Capabilities() {
				derived[c.Name] = c.Value
			}
			for _, name := range slices.Sorted(maps.Keys(union(derived, r.said))) {
				if !slices.Contains(unruled, name) && derived[name] != r.said[name] {
					t.Errorf("%s is %q, Azure says %q", name, derived[name], r.said[name])
				}
			}
		})
	}
}

func union(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func TestSizes(t *testing.T) {
	if n := len(Sizes()); n != 1370 {
		t.Errorf("%d sizes, not 1370", n)
	}
	seen := map[string]bool{}
	for _, s := range Sizes() {
		if seen[strings.ToLower(s.Name)] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[strings.ToLower(s.Name)] = true
		if s.Arm != s.has('p') {
			t.Errorf("%s: the name and the architecture contradict each other", s.Name)
		}
		if s.constrained >= s.VCPUs {
			t.Errorf("%s has %d of %d vCPUs for use", s.Name, s.constrained, s.VCPUs)
		}
	}
}

func TestSizeNamed(t *testing.T) {
	for name, want := range map[string]string{"standard_d2S_V3": "Standard_D2s_v3", "Standard_Foo": "", "": ""} {
		if s, ok := SizeNamed(name); s.Name != want || ok != (want != "") {
			t.Errorf("%q finds %q, %v", name, s.Name, ok)
		}
	}
}
