package catalog

import "testing"

func TestRetiredOn(t *testing.T) {
	for size, want := range map[string]string{
		"Standard_NC24rs_v3": "2025-03-31", "Standard_NC6s_v3": "2025-09-30", "standard_nv12s_v3": "2026-09-30",
		"Standard_NV4as_v4": "2026-09-30", "Standard_DC2s_v2": "2026-06-30", "Standard_DC2s_v3": "", "Standard_NC4as_T4_v3": "",
		"Standard_NV36ads_A10_v5": "", "Standard_D2s_v3": "", "": "",
	} {
		if got := RetiredOn(size); got != want {
			t.Errorf("RetiredOn(%q) = %q, want %q", size, got, want)
		}
	}
}
