package cluster

import (
	"testing"

	"casement.dev/casement/internal/flavors"
)

// TestWithRelease: a generated cluster gets the Windows release for its Kubernetes version and its network, unless a
// variable names one.
func TestWithRelease(t *testing.T) {
	for _, c := range []struct{ flavor, kubernetes, asked, want string }{
		{"windows", "v1.37.2", "", ""}, {"windows-azure-cni", "v1.36.3", "", ""}, {"windows-azure-cni", "v1.37.2", "", "windows-2025"},
		{"windows-azure-cni", "v1.37.2", "windows-2022", "windows-2022"}, {"windows-azure-cni", "latest", "", ""},
	} {
		template, err := flavors.Get(c.flavor)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{"KUBERNETES_VERSION": c.kubernetes}
		if c.asked != "" {
			values["WINDOWS_SERVER_VERSION"] = c.asked
		}
		got, ok := withRelease(template, func(name string) (string, bool) { v, ok := values[name]; return v, ok })("WINDOWS_SERVER_VERSION")
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s of %s, asked for %q: %q, want %q", c.flavor, c.kubernetes, c.asked, got, c.want)
		}
	}
}
