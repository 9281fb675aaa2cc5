// Package addons has the manifests that a self-managed cluster on Azure needs beside Cluster API: a CNI for Linux and
// Windows, kube-proxy for Windows, the Azure cloud provider, csi-proxy and CSI drivers, and monitors of Windows nodes,
// each with a version and the Cluster labels that request it. They are casement's own minimal manifests for the
// published images; users who need more install the projects' charts instead.
//
// It renders manifests as text and as ClusterResourceSets; it connects to no cluster. internal/plane, internal/helm,
// internal/cli, hack/release and tests may import it.
package addons

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"text/template"

	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/repair"
)

//go:embed manifests/*.yaml manifests/*.json
var manifests embed.FS

// Addon is a set of manifests.
type Addon struct {
	Name string
	// Version is the version of the addon's software.
	Version string
	// Selectors are the label sets of a Cluster that request the addon; any one of them is sufficient.
	Selectors []map[string]string
	// Charts are the names of the Helm charts that install the same software.
	Charts []string
	// About describes the addon in a few words.
	About string
	// manifest is the name, without extension, of the addon's file in manifests/; "" means the addon's own name.
	manifest string
}

// Params are the inputs of manifests. Zero values have defaults.
type Params struct {
	// KubernetesVersion ("v1.36.3") selects the images whose version follows Kubernetes: kube-proxy for Windows and the
	// cloud provider.
	KubernetesVersion string
	// ClusterName is the cloud provider's --cluster-name, which is part of the names of load balancers; "kubernetes" if
	// it is empty.
	ClusterName string
	// PodCIDR is the range of pod addresses. If it is empty, Calico reads the range from the kubeadm configuration,
	// flannel uses 10.244.0.0/16, and Azure CNI, whose range is the virtual network, uses 10.0.0.0/8.
	PodCIDR string
	// ServiceCIDR is 10.96.0.0/12 when empty.
	ServiceCIDR string
	// APIServerHost and APIServerPort are the API server's address for Windows nodes before kube-proxy runs there;
	// empty means the cluster address.
	APIServerHost string
	APIServerPort int
	// Digests are the digests (sha256:...) that are appended to images, by the image reference in the manifests.
	Digests map[string]string
}

const (
	calicoVersion   = "v3.31.3"
	flannelVersion  = "v0.26.3"
	flannelPlugin   = "v1.6.0-flannel1"
	flannelWindows  = "v0.13.0"
	csiProxyVersion = "v1.1.3"
	// azureCNIVersion is a release of github.com/Azure/azure-container-networking whose
	// image has v1 of the CNI for Linux and Windows.
	azureCNIVersion        = "v1.6.21"
	masqAgentVersion       = "v2.8.0"
	windowsExporterVersion = "0.31.6"
	eventFlowVersion       = "v0.1.0"
	problemDetectorVersion = "v1.36.0"
	// hostProcessVersion is the version of the image of HostProcess containers that only use the node's programs.
	// Source: github.com/microsoft/windows-host-process-containers-base-image, releases.
	hostProcessVersion = "v1.0.0"
	// azureNetwork is the default range of the pods of Azure's CNI.
	azureNetwork = "10.0.0.0/8"
)

// All returns the addons in the recommended order of installation.
func All() []Addon {
	windows, calico := map[string]string{"cni": "calico", "windows": "enabled"}, []string{"tigera-operator", "calico"}
	_, provider := cloudProvider(kuberelease.Default)
	return []Addon{
		{Name: "cloud-provider-azure", Version: provider,
			Selectors: []map[string]string{{"cloud-provider": "azure"}}, Charts: []string{"cloud-provider-azure"},
			About: "cloud-controller-manager, and cloud-node-manager for Linux and Windows"},
		{Name: "calico", Version: calicoVersion, Selectors: []map[string]string{{"cni": "calico"}}, Charts: calico,
			About: "Calico by VXLAN for Linux nodes"},
		{Name: "calico-dual-stack", Version: calicoVersion,
			Selectors: []map[string]string{{"cni": "calico-dual-stack"}}, Charts: calico, manifest: "calico",
			About: "Calico by VXLAN for Linux nodes, pods with IPv4 and IPv6"},
		{Name: "calico-ipv6", Version: calicoVersion, Selectors: []map[string]string{{"cni": "calico-ipv6"}},
			Charts: calico, manifest: "calico",
			About: "Calico by VXLAN for Linux nodes, pods with IPv6 only"},
		{Name: "calico-windows", Version: calicoVersion,
			Selectors: []map[string]string{windows, {"cni-windows": "calico", "windows": "enabled"}},
			About:     "Calico and kube-proxy in HostProcess containers for Windows nodes"},
		{Name: "flannel", Version: flannelVersion, Selectors: []map[string]string{{"cni": "flannel-windows"}}, Charts: []string{"flannel"},
			About: "flannel by VXLAN for Linux nodes, with the VNI and port that Windows needs"},
		{Name: "flannel-windows", Version: flannelWindows, Selectors: []map[string]string{{"cni": "flannel-windows"}},
			About: "flannel and kube-proxy through wins, for Windows nodes with Docker"},
		{Name: "azure-cni", Version: azureCNIVersion, Selectors: []map[string]string{{"cni": "azure"}},
			About: "Azure CNI v1 for Linux nodes: pods have addresses of the nodes' subnet"},
		{Name: "azure-cni-windows", Version: azureCNIVersion, Selectors: []map[string]string{{"cni": "azure", "windows": "enabled"}},
			About: "Azure CNI v1 and kube-proxy in HostProcess containers for Windows nodes"},
		{Name: "csi-proxy", Version: csiProxyVersion, Selectors: []map[string]string{{"csi-proxy": "enabled"}},
			Charts: []string{"csi-proxy"},
			About:  "storage operations for CSI drivers on Windows nodes"},
		{Name: "azuredisk-csi", Version: csiDrivers["azuredisk-csi"].Version, manifest: "azure-csi",
			Selectors: []map[string]string{{"azuredisk-csi": "true"}}, Charts: []string{"azuredisk-csi-driver"},
			About: "volumes on Azure disks, for Linux nodes and by HostProcess containers for Windows nodes"},
		{Name: "azurefile-csi", Version: csiDrivers["azurefile-csi"].Version, manifest: "azure-csi",
			Selectors: []map[string]string{{"azurefile-csi": "true"}}, Charts: []string{"azurefile-csi-driver"},
			About: "volumes on Azure file shares (SMB), for Linux and Windows nodes"},
		{Name: "windows-exporter", Version: windowsExporterVersion,
			Selectors: []map[string]string{{"windows-exporter": "enabled"}},
			About:     "metrics of Windows nodes for Prometheus, with a Grafana dashboard and rules"},
		{Name: "windows-logs", Version: eventFlowVersion, Selectors: []map[string]string{{"windows-logs": "enabled"}},
			About: "logs of kubelet, containerd and HNS as logs of a pod, and their rotation"},
		{Name: "node-problem-detector-windows", Version: problemDetectorVersion,
			Selectors: []map[string]string{{"node-problem-detector": "enabled"}},
			About:     "conditions of Windows nodes: kubelet, containerd, Host Networking Service"},
		{Name: "windows-node-repair", Version: hostProcessVersion, Selectors: []map[string]string{{"windows-node-repair": "enabled"}},
			About: "repairs Windows nodes in place: services, HNS, kube-proxy's cache, shims, a full disk; a bound for each"},
	}
}

// cloudProvider returns the registry and the newest checked release of cloud-provider-azure for a Kubernetes version;
// both have the same minor version. From 1.34 on, the images are published under oss/v2. Source:
// github.com/kubernetes-sigs/cloud-provider-azure, version matrix.
func cloudProvider(kubernetes string) (registry, version string) {
	const v1, v2 = "mcr.microsoft.com/oss/kubernetes", "mcr.microsoft.com/oss/v2/kubernetes"
	_, rest, _ := strings.Cut(kubernetes, ".")
	text, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(text)
	switch {
	case err != nil || minor >= 37:
		return v2, "v1.37.5"
	case minor == 36:
		return v2, "v1.36.1"
	case minor == 35:
		return v2, "v1.35.5"
	case minor == 34:
		return v2, "v1.34.10"
	case minor == 33:
		return v1, "v1.33.2"
	case minor >= 30:
		return v1, "v1.30.10" // no release for 1.31 and 1.32 was checked
	default:
		return v1, "v1.29.9"
	}
}

// values are the data of the manifests' templates.
type values struct {
	Params
	// IPv4 and IPv6 are true for the address families of Calico's pods.
	IPv4, IPv6 bool

	Calico, Flannel, FlannelPlugin, FlannelWindows, CSIProxy string
	CloudProvider, CloudProviderRepository                   string
	AzureCNI, MasqAgent                                      string
	// KubeProxyTag is the Kubernetes version in the form that image tags allow.
	KubeProxyTag string
	DNS          string
	CalicoCRDs   []crd

	WindowsExporter, EventFlow, ProblemDetector, HostProcess string
	// RepairScript is the script of windows-node-repair.
	RepairScript string
	CSI          csiDriver
	Problems     []problem
}

// Render returns the manifests of an addon as a YAML stream.
func (a Addon) Render(p Params) ([]byte, error) {
	p.KubernetesVersion = cmp.Or(p.KubernetesVersion, kuberelease.Default)
	p.ClusterName = cmp.Or(p.ClusterName, "kubernetes")
	p.ServiceCIDR = cmp.Or(p.ServiceCIDR, "10.96.0.0/12")
	dns, err := serviceDNS(p.ServiceCIDR)
	if err != nil {
		return nil, fmt.Errorf("addon %s: %w", a.Name, err)
	}
	if strings.HasPrefix(a.Name, "azure-cni") {
		p.PodCIDR = cmp.Or(p.PodCIDR, azureNetwork)
	}
	registry, provider := cloudProvider(p.KubernetesVersion)
	file := cmp.Or(a.manifest, a.Name) + ".yaml"
	t, err := template.New(file).Delims("[[", "]]").Funcs(template.FuncMap{"file": indented, "indent": indent}).ParseFS(manifests,
		"manifests/"+file)
	if err != nil {
		return nil, fmt.Errorf("addon %s: %w", a.Name, err)
	}
	var out bytes.Buffer
	err = t.Execute(&out, values{
		Params: p, IPv4: a.Name != "calico-ipv6", IPv6: a.Name == "calico-ipv6" || a.Name == "calico-dual-stack",
		Calico: calicoVersion, Flannel: flannelVersion, FlannelPlugin: flannelPlugin,
		FlannelWindows: flannelWindows, CSIProxy: csiProxyVersion,
		CloudProvider: provider, CloudProviderRepository: registry, AzureCNI: azureCNIVersion, MasqAgent: masqAgentVersion,
		KubeProxyTag: strings.ReplaceAll(p.KubernetesVersion, "+", "_"), DNS: dns, CalicoCRDs: calicoCRDs(),
		WindowsExporter: windowsExporterVersion, EventFlow: eventFlowVersion, ProblemDetector: problemDetectorVersion,
		HostProcess: hostProcessVersion, RepairScript: repair.Script(),
		CSI: csiDrivers[a.Name], Problems: problems(),
	})
	if err != nil {
		return nil, fmt.Errorf("addon %s: %w", a.Name, err)
	}
	return pinned(out.Bytes(), p.Digests), nil
}

// serviceDNS returns the tenth address of the service range, which kubeadm gives to the
// cluster's DNS.
func serviceDNS(cidr string) (string, error) {
	first, _, _ := strings.Cut(cidr, ",")
	p, err := netip.ParsePrefix(first)
	if err != nil {
		return "", fmt.Errorf("service CIDR %q: %w", cidr, err)
	}
	a := p.Masked().Addr()
	for range 10 {
		a = a.Next()
	}
	if !p.Contains(a) {
		return "", fmt.Errorf("service CIDR %q has no tenth address", cidr)
	}
	return a.String(), nil
}

// crd describes a custom resource definition of Calico.
type crd struct{ Kind, Plural, Scope string }

// calicoCRDs returns the kinds of Calico's Kubernetes datastore. Their schemas here accept any content. Source:
// github.com/projectcalico/calico, manifests/crds.yaml.
func calicoCRDs() []crd {
	kinds := []string{
		"BGPConfiguration", "BGPFilter", "BGPPeer", "BlockAffinity", "CalicoNodeStatus", "ClusterInformation",
		"FelixConfiguration", "GlobalNetworkPolicy", "GlobalNetworkSet", "HostEndpoint", "IPAMBlock", "IPAMConfig",
		"IPAMHandle", "IPPool", "IPReservation", "KubeControllersConfiguration", "NetworkPolicy", "NetworkSet",
		"StagedGlobalNetworkPolicy", "StagedKubernetesNetworkPolicy", "StagedNetworkPolicy", "Tier",
	}
	var out []crd
	for _, k := range kinds {
		c := crd{Kind: k, Plural: plural(strings.ToLower(k)), Scope: "Cluster"}
		switch k {
		case "NetworkPolicy", "NetworkSet", "StagedKubernetesNetworkPolicy", "StagedNetworkPolicy":
			c.Scope = "Namespaced"
		}
		out = append(out, c)
	}
	return out
}

func plural(s string) string {
	switch {
	case strings.HasSuffix(s, "y"):
		return strings.TrimSuffix(s, "y") + "ies"
	case strings.HasSuffix(s, "s"):
		return s + "es"
	}
	return s + "s"
}
