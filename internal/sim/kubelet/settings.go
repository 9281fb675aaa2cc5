package kubelet

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Guest paths of a kubelet that kubeadm configured.
const (
	kubeletConf   = "/etc/kubernetes/kubelet.conf"
	bootstrapConf = "/etc/kubernetes/bootstrap-kubelet.conf"
	configFile    = "/var/lib/kubelet/config.yaml"
	pkiFolder     = "/var/lib/kubelet/pki"
	cniFolder     = "/etc/cni/net.d"
	podLogFolder  = "/var/log/pods"
)

// settings is the part of KubeletConfiguration that has an effect here.
type settings struct {
	StaticPodPath  string   `json:"staticPodPath"`
	ClusterDNS     []string `json:"clusterDNS"`
	ClusterDomain  string   `json:"clusterDomain"`
	MaxPods        int      `json:"maxPods"`
	RegisterNode   *bool    `json:"registerNode"`
	Authentication struct {
		X509 struct {
			ClientCAFile string `json:"clientCAFile"`
		} `json:"x509"`
	} `json:"authentication"`
	Authorization struct {
		Mode string `json:"mode"`
	} `json:"authorization"`
	RegisterWithTaints []corev1.Taint    `json:"registerWithTaints"`
	ProviderID         string            `json:"providerID"`
	FeatureGates       map[string]bool   `json:"featureGates"`
	EvictionHard       map[string]string `json:"evictionHard"`
	SystemReserved     map[string]string `json:"systemReserved"`
	KubeReserved       map[string]string `json:"kubeReserved"`
	ServerTLSBootstrap bool              `json:"serverTLSBootstrap"`
	// NodeLeaseDurationSeconds is the duration of the node's lease, which is renewed several times
	// in this time.
	NodeLeaseDurationSeconds int32 `json:"nodeLeaseDurationSeconds"`
}

// readSettings reads config.yaml and applies the flags to it. Without the file, kubeadm's defaults
// apply.
func (k *Kubelet) readSettings() (settings, error) {
	var s settings
	data, err := k.c.Files.ReadFile(configFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return s, fmt.Errorf("kubelet: failed to load kubelet config file %s: %w", configFile, err)
	default:
		if err := yaml.Unmarshal(data, &s); err != nil {
			return s, fmt.Errorf("kubelet: failed to decode kubelet config file %s: %w", configFile, err)
		}
		if err := k.refuses(data); err != nil {
			return s, fmt.Errorf("kubelet: failed to validate kubelet configuration, error: %w, path: %s", err, configFile)
		}
	}
	s.StaticPodPath = noDrive(cmp.Or(k.flags.PodManifestPath, s.StaticPodPath, "/etc/kubernetes/manifests"))
	s.Authentication.X509.ClientCAFile = noDrive(cmp.Or(s.Authentication.X509.ClientCAFile, "/etc/kubernetes/pki/ca.crt"))
	s.ClusterDomain = cmp.Or(s.ClusterDomain, "cluster.local")
	s.NodeLeaseDurationSeconds = cmp.Or(max(s.NodeLeaseDurationSeconds, 0), leaseSeconds)
	s.MaxPods = cmp.Or(k.flags.MaxPods, s.MaxPods, 110)
	if len(k.flags.RegisterWithTaints) > 0 {
		s.RegisterWithTaints = k.flags.RegisterWithTaints
	}
	for _, amounts := range []struct{ flag, file *map[string]string }{
		{&k.flags.EvictionHard, &s.EvictionHard}, {&k.flags.SystemReserved, &s.SystemReserved}, {&k.flags.KubeReserved, &s.KubeReserved},
	} {
		if *amounts.flag != nil {
			*amounts.file = *amounts.flag
		}
	}
	if k.flags.Gates != nil {
		s.FeatureGates = k.flags.Gates
	}
	s.ProviderID = cmp.Or(k.flags.ProviderID, s.ProviderID)
	return s, nil
}

// noDrive removes the system drive from a Windows path, because guest paths have no drive.
func noDrive(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if len(p) >= 2 && p[1] == ':' && (p[0] == 'C' || p[0] == 'c') {
		p = p[2:]
	}
	return p
}

// linuxSettings are the fields with which a kubelet on Windows does not start, each with the first
// minor version that has the field. Source: kubernetes
// pkg/kubelet/apis/config/validation/validation_windows.go.
var linuxSettings = []struct {
	name  string
	since uint
}{{"singleProcessOOMKill", 32}, {"userNamespaces", 33}, {"defaultPodSysctls", 37}}

// refuses returns the error of a kubelet on Windows whose configuration contains a field for Linux.
func (k *Kubelet) refuses(data []byte) error {
	var fields map[string]any
	if k.c.OS != "windows" || yaml.Unmarshal(data, &fields) != nil {
		return nil
	}
	for _, s := range linuxSettings {
		v, ok := fields[s.name]
		if sysctls, list := v.(map[string]any); ok && v != nil && (!list || s.name == "userNamespaces" || len(sysctls) > 0) &&
			minorOf(k.c.Version) >= s.since {
			return fmt.Errorf("invalid configuration: %s is not supported on Windows", s.name)
		}
	}
	return nil
}
