package rules

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/lint"
)

// TestFlavors: casement's own templates have no errors, and those for Linux have no findings.
func TestFlavors(t *testing.T) {
	for _, name := range flavors.List() {
		t.Run(name, func(t *testing.T) {
			get := flavors.Get
			if flavors.Topology(name) {
				get = flavors.WithClass
			}
			template, err := get(name)
			if err != nil {
				t.Fatal(err)
			}
			text, _, err := flavors.Fill(template, func(variable string) (string, bool) {
				known := map[string]string{"CLUSTER_NAME": "demo", "KUBERNETES_VERSION": "v1.36.3", "CONTROL_PLANE_MACHINE_COUNT": "1",
					"WORKER_MACHINE_COUNT": "1"}
				value, ok := known[variable]
				if !ok && (strings.HasPrefix(variable, "AZURE_") || variable == "CLUSTER_IDENTITY_NAME" ||
					strings.HasPrefix(variable, "DOMAIN_") || strings.HasPrefix(variable,
					"WINDOWS_IMAGE_") || variable == "GMSA_IDENTITY_ID") &&
					variable != "AZURE_NODE_MACHINE_TYPE" && variable != "AZURE_CONTROL_PLANE_MACHINE_TYPE" {
					return "example", true
				}
				return value, ok
			})
			if err != nil {
				t.Fatal(err)
			}
			set, errs := lint.Parse(name, text, lint.Options{})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			windows := strings.Contains(name, "windows")
			if windowsMachines(set) != windows {
				t.Fatal("its Windows machines are not seen")
			}
			for _, f := range lint.Run(set, All(), lint.Target{}) {
				if f.Severity != lint.Info || !windows {
					t.Errorf("%d: %s %s: %s", f.Line, f.Rule, f.Path, f.Message)
				}
			}
		})
	}
}
