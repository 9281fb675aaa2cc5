package controlplane

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/version"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/componentconfigs"
)

// coreDNS is the CoreDNS version that kubeadm of Kubernetes 1.MINOR installs, by minor. Source: CoreDNSVersion in
// cmd/kubeadm/app/constants of the last patch release of each minor.
var coreDNS = map[uint]string{
	19: "1.7.0", 20: "1.7.0", 21: "v1.8.0", 22: "v1.8.4", 23: "v1.8.6", 24: "v1.8.6", 25: "v1.9.3", 26: "v1.9.3",
	27: "v1.10.1", 28: "v1.10.1",
	29: "v1.11.1", 30: "v1.11.3", 31: "v1.11.3", 32: "v1.11.3", 33: "v1.12.0", 34: "v1.12.1", 35: "v1.13.1",
	36: "v1.14.2", 37: "v1.14.6",
}

// kubeadm writes kube-proxy's default mode into its configuration since 1.37, and left it empty before: an empty mode
// is kernelspace on Windows, where the name of the Linux mode fails. Source: kubernetes pull request 139777.
const (
	proxyModeNamed   = 37
	defaultProxyMode = "iptables"
)

// addonsOf returns a configuration with the addon versions of the requested Kubernetes version, instead of those of the
// embedded one. A tag that the user sets is kept.
func addonsOf(cfg *kubeadmapi.ClusterConfiguration, asked string) *kubeadmapi.ClusterConfiguration {
	out := cfg.DeepCopy()
	v, err := version.ParseSemantic(asked)
	if err != nil {
		return out
	}
	out.KubernetesVersion = "v" + v.String()
	if v.Major() == 1 {
		out.DNS.ImageTag = cmp.Or(out.DNS.ImageTag, coreDNS[v.Minor()])
	}
	if proxy, ok := out.ComponentConfigs[componentconfigs.KubeProxyGroup]; ok && v.LessThan(version.MajorMinor(1, proxyModeNamed)) {
		config := proxy.Get().(*kubeproxyconfig.KubeProxyConfiguration)
		if config.Mode == defaultProxyMode {
			config.Mode = ""
		}
	}
	return out
}
