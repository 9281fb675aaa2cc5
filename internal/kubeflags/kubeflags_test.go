package kubeflags

import "testing"

// TestDropped holds the generated list to removals that others have recorded.
func TestDropped(t *testing.T) {
	for _, test := range []struct {
		program, flag string
		minor         int
		source        string
	}{
		{"kubelet", "network-plugin", 24, "CHANGELOG-1.24, 106907"},
		{"kubelet", "container-runtime", 27, "CHANGELOG-1.27"},
		{"kubelet", "cloud-config", 34, "rancher/rke2 8927"},
		{"kubelet", "pod-infra-container-image", 35, "kubernetes 133779"},
		{"kube-apiserver", "insecure-port", 24, "CHANGELOG-1.24"},
		{"kube-apiserver", "cloud-provider", 33, "CHANGELOG-1.33"},
		{"kube-controller-manager", "pod-eviction-timeout", 27, "CHANGELOG-1.27"},
		{"kube-scheduler", "policy-config-file", 23, "CHANGELOG-1.23"},
		{"kubelet", "node-ip", 0, "there still"},
		{"kube-controller-manager", "cloud-config", 0, "there still"},
		{"kube-apiserver", "oidc-issuer-url", 0, "there still"},
	} {
		if minor, ok := Dropped(test.program, test.flag); minor != test.minor || ok != (test.minor > 0) {
			t.Errorf("%s --%s: gone with 1.%d (%t), want 1.%d: %s", test.program, test.flag, minor, ok, test.minor, test.source)
		}
	}
}
