package windows_test

import (
	"testing"

	"casement.dev/casement/internal/windows"
)

// TestGuideImage: the reference image of the guide has a containerd for HostProcess containers.
func TestGuideImage(t *testing.T) {
	c, ok := windows.ParseImage("cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:2021.10.15")
	if !ok || c.Runtime != windows.Containerd || c.RuntimeVersion < "1.6" {
		t.Errorf("%+v, %v", c, ok)
	}
}
