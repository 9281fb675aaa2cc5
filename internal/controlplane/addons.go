package controlplane

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/version"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
)

// coreDNS is the CoreDNS that kubeadm of a Kubernetes 1.MINOR installs. Source: CoreDNS's
// page on its versions in Kubernetes, to 1.33, and the packages of openSUSE for 1.34; that
// of 1.35 is not confirmed by a second source.
var coreDNS = map[uint]string{
	19: "1.7.0", 20: "1.7.0", 21: "v1.8.0", 22: "v1.8.4", 23: "v1.8.6", 24: "v1.8.6", 25: "v1.9.3", 26: "v1.9.3",
	27: "v1.10.1", 28: "v1.10.1",
	29: "v1.11.1", 30: "v1.11.1", 31: "v1.11.3", 32: "v1.11.3", 33: "v1.12.0", 34: "v1.12.1", 35: "v1.13.1",
}

// addonsOf returns a configuration with the addons of the requested version, and not of the
// embedded Kubernetes. A tag that the user sets is kept.
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
	return out
}
