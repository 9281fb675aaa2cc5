package controlplane

import (
	"testing"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/componentconfigs"
	"k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/images"
	configutil "k8s.io/kubernetes/cmd/kubeadm/app/util/config"
)

// TestAddonsOf checks that kubeadm installs the addons of the requested version.
func TestAddonsOf(t *testing.T) {
	for asked, test := range map[string]struct{ tag, dns, proxy string }{
		"v1.36.3":  {"", "v1.14.2", "v1.36.3"},
		"v1.35.1":  {"", "v1.13.1", "v1.35.1"},
		"v1.31.0":  {"", "v1.11.3", "v1.31.0"},
		"v1.24.17": {"v1.9.9", "v1.9.9", "v1.24.17"},
		constants.CurrentKubernetesVersion.String(): {"", constants.CoreDNSVersion, "v" + constants.CurrentKubernetesVersion.String()},
	} {
		t.Run(asked, func(t *testing.T) {
			cfg := &kubeadmapi.ClusterConfiguration{KubernetesVersion: "v1.37.2", ImageRepository: "registry.k8s.io"}
			cfg.DNS.ImageTag = test.tag
			got := addonsOf(cfg, asked)
			if image := images.GetDNSImage(got); image != "registry.k8s.io/coredns/coredns:"+test.dns {
				t.Errorf("CoreDNS is %s, want %s", image, test.dns)
			}
			if image := images.GetKubernetesImage(constants.KubeProxy, got); image != "registry.k8s.io/kube-proxy:"+test.proxy {
				t.Errorf("kube-proxy is %s, want %s", image, test.proxy)
			}
			if cfg.KubernetesVersion != "v1.37.2" {
				t.Error("the configuration was changed")
			}
		})
	}
}

// TestProxyMode checks that kubeadm's kube-proxy configuration has the mode that the requested version writes.
func TestProxyMode(t *testing.T) {
	for asked, want := range map[string]string{"v1.36.3": "", "v1.28.0": "", "v1.37.2": "iptables"} {
		data := "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {advertiseAddress: 10.0.0.4}\n" +
			"nodeRegistration: {name: a}\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n" +
			"kubernetesVersion: v1.37.2\n"
		cfg, err := configutil.BytesToInitConfiguration([]byte(data), true)
		if err != nil {
			t.Fatal(err)
		}
		proxy := addonsOf(&cfg.ClusterConfiguration, asked).ComponentConfigs[componentconfigs.KubeProxyGroup]
		if mode := proxy.Get().(*kubeproxyconfig.KubeProxyConfiguration).Mode; string(mode) != want {
			t.Errorf("kubeadm of %s writes the mode %q, want %q", asked, mode, want)
		}
	}
}
