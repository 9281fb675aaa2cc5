package kubeflags

import "testing"

// TestDropped compares the generated list with removals in other sources.
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
		{"kubelet", "boot-id-file", 37, "kubernetes 139870"},
		{"kubelet", "storage-driver-db", 37, "kubernetes 139870"},
		{"kubelet", "containerd-namespace", 37, "kubernetes 139870"},
		{"kubelet", "docker-root", 24, "CHANGELOG-1.24"},
		{"kubelet", "housekeeping-interval", 0, "kept, kubernetes 139870"},
		{"kubelet", "node-ip", 0, "there still"},
		{"kube-controller-manager", "cloud-config", 0, "there still"},
		{"kube-apiserver", "oidc-issuer-url", 0, "there still"},
	} {
		if minor, ok := Dropped(test.program, test.flag); minor != test.minor || ok != (test.minor > 0) {
			t.Errorf("%s --%s: gone with 1.%d (%t), want 1.%d: %s", test.program, test.flag, minor, ok, test.minor, test.source)
		}
	}
}

// TestDroppedGate compares the generated list with removals in other sources.
func TestDroppedGate(t *testing.T) {
	for _, test := range []struct {
		gate   string
		minor  int
		source string
	}{
		{"DynamicKubeletConfig", 26, "CHANGELOG-1.26"},
		{"CSIMigrationAzureDisk", 27, "CHANGELOG-1.27"},
		{"WindowsHostProcessContainers", 28, "CHANGELOG-1.28"},
		{"CSIMigrationAzureFile", 30, "CHANGELOG-1.30"},
		{"DisableCloudProviders", 33, "CHANGELOG-1.33"},
		{"WinDSR", 0, "there still"},
		{"WatchListClient", 0, "there still, in client-go"},
		{"ContextualLogging", 0, "there still, in component-base"},
		{"NoSuchGate", 0, "never there"},
	} {
		if minor, ok := DroppedGate(test.gate); minor != test.minor || ok != (test.minor > 0) {
			t.Errorf("%s: gone with 1.%d (%t), want 1.%d: %s", test.gate, minor, ok, test.minor, test.source)
		}
	}
}

// TestLacks checks flags that exist on one system only.
func TestLacks(t *testing.T) {
	for _, test := range []struct {
		program, system, flag string
		want                  bool
	}{
		{"kubelet", "windows", "housekeeping-interval", true}, {"kubelet", "linux", "housekeeping-interval", false},
		{"kubelet", "windows", "global-housekeeping-interval", true}, {"kubelet", "linux", "windows-priorityclass", true},
		{"kubelet", "windows", "windows-service", false}, {"kube-proxy", "linux", "enable-dsr", true},
		{"kubelet", "windows", "node-ip", false}, {"kubelet", "windows", "max-pods", false},
	} {
		if got := Lacks(test.program, test.system, test.flag); got != test.want {
			t.Errorf("%s on %s lacks --%s: %t", test.program, test.system, test.flag, got)
		}
	}
}

// TestNever checks misspelt flags, and flags that some minor version or one system has.
func TestNever(t *testing.T) {
	for _, flag := range []string{"node-label", "max-pod", "feature-gate", "nodelabels", "evictionHard"} {
		if !Never(flag) {
			t.Errorf("a kubelet has --%s", flag)
		}
	}
	for _, flag := range []string{"node-labels", "max-pods", "feature-gates", "v", "network-plugin", "alsologtostderr", "windows-service",
		"allow-privileged", "housekeeping-interval", "image-credential-provider-config", "logging-format", "cloud-provider"} {
		if Never(flag) {
			t.Errorf("no kubelet had --%s", flag)
		}
	}
}

// TestCadvisor checks the 18 flags in a release note of 1.37. Source: CHANGELOG-1.37, kubernetes 139870.
func TestCadvisor(t *testing.T) {
	n := 0
	for flag, minor := range dropped["kubelet"] {
		if minor == 37 && Lacks("kubelet", "windows", flag) {
			n++
		}
	}
	if n != 18 {
		t.Errorf("the kubelet of 1.37 lost %d flags of cAdvisor, not 18", n)
	}
}
