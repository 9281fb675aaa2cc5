package webhook

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestStrategy checks which amounts of a rolling update are refused: two integers of 0, as in CAPZ, and texts that are no amount.
func TestStrategy(t *testing.T) {
	for name, c := range map[string]struct {
		surge, unavailable string
		refused            bool
	}{
		"defaults":                    {"1", "0", false},
		"both 0":                      {"0", "0", true},
		"0 percent and 0":             {"0%", "0", false},
		"0 and 0 percent":             {"0", "0%", false},
		"a share":                     {"25%", "0", false},
		"less than nothing":           {"-1", "1", true},
		"no number":                   {"many", "1", true},
		"unavailable without a surge": {"0", "1", false},
	} {
		t.Run(name, func(t *testing.T) {
			surge, unavailable := intstr.Parse(c.surge), intstr.Parse(c.unavailable)
			errs := validateStrategy(&infrav1.MachineRollingUpdateDeployment{
				MaxSurge: &surge, MaxUnavailable: &unavailable,
			}, field.NewPath("spec"))
			if refused := len(errs) > 0; refused != c.refused {
				t.Errorf("refused %v, want %v: %v", refused, c.refused, errs)
			}
		})
	}
}
