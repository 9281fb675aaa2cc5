package images

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOnImage: lists show the projects that support an image's Windows and the known regressions of its
// build; the build of a reference image is not known.
func TestOnImage(t *testing.T) {
	for reference, want := range map[string][]string{
		"MicrosoftWindowsServer:WindowsServer:2022-datacenter-core-smalldisk:20348.2700.240905": {"-", "-", "10.0.20348.2700", "2031-10-14",
			"Kubernetes, Calico, Azure CNI, Flannel", "KB5034770, KB5040437, KB5036909"},
		"MicrosoftWindowsServer:WindowsServer:2025-datacenter-core-smalldisk:26100.99999.280905": {"-", "-", "10.0.26100.99999", "2034-11-14",
			"Kubernetes, Azure CNI", "KB5082063, others not known"},
		"x:y:z:1": {"-", "-", "-", "-", "-", "-"},
	} {
		if got := onImage(reference); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", reference, got, want)
		}
	}
	shown, _, err := showImage("v1.37.2", "windows", "2025", "", time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC))
	if err != nil || shown.Regressions != "none known" || !slices.ContainsFunc(shown.SupportedBy,
		func(s string) bool { return strings.HasPrefix(s, "Windows Server 2025 is not supported by Calico") }) {
		t.Errorf("%+v, %v", shown, err)
	}
}
