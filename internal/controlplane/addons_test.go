package controlplane

import (
	"testing"

	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/images"
)

// TestAddonsOf checks that kubeadm installs the addons of the requested version.
func TestAddonsOf(t *testing.T) {
	for asked, test := range map[string]struct{ tag, dns, proxy string }{
		"v1.35.1":  {"", "v1.13.1", "v1.35.1"},
		"v1.31.0":  {"", "v1.11.3", "v1.31.0"},
		"v1.24.17": {"v1.9.9", "v1.9.9", "v1.24.17"},
		constants.CurrentKubernetesVersion.String(): {"", constants.CoreDNSVersion, "v" + constants.CurrentKubernetesVersion.String()},
	} {
		t.Run(asked, func(t *testing.T) {
			cfg := &kubeadmapi.ClusterConfiguration{KubernetesVersion: "v1.36.3", ImageRepository: "registry.k8s.io"}
			cfg.DNS.ImageTag = test.tag
			got := addonsOf(cfg, asked)
			if image := images.GetDNSImage(got); image != "registry.k8s.io/coredns/coredns:"+test.dns {
				t.Errorf("CoreDNS is %s, want %s", image, test.dns)
			}
			if image := images.GetKubernetesImage(constants.KubeProxy, got); image != "registry.k8s.io/kube-proxy:"+test.proxy {
				t.Errorf("kube-proxy is %s, want %s", image, test.proxy)
			}
			if cfg.KubernetesVersion != "v1.36.3" {
				t.Error("the configuration was changed")
			}
		})
	}
}
