package windows

import (
	"encoding/json"
	"slices"
)

// Network is a way to connect the pods of Windows nodes on Azure. Some ways are refused.
type Network struct {
	// Name is the network's common name, and Mode the type of its HNS network.
	Name, Mode string
	// Plugin and IPAM are the CNI plug-ins of a Windows node.
	Plugin, IPAM string
	// Labels are the Cluster labels that request the network's addons, which are listed in Addons.
	Labels map[string]string
	Addons []string
	// VNI and VXLANPort are the settings of its overlay; 0 for a network without one.
	VNI, VXLANPort int
	// MTU is the MTU of a pod's interface; 0 means the node's MTU.
	MTU int
	// Exceptions are the networks, by their names in Ranges, whose addresses are not translated by NAT; the plug-in
	// itself adds those in OwnExceptions.
	Exceptions    []string
	OwnExceptions []string
	// Ports are the ports that nodes must reach on each other, in addition to the kubelet's.
	Ports []Port
	// Releases are the Windows releases that the network supports; nil means all.
	Releases []string
	// From is the first Kubernetes minor version that its addons support, and Until the first that they no longer
	// support; 0 means none.
	From, Until int
	// Refused is the reason why there is no addon for the network, or "".
	Refused string
	// Rules are the IDs of the checks of lint and preflight that concern the network.
	Rules []string
}

// Port is a port of a node.
type Port struct {
	// Protocol is Udp or Tcp, as in a security rule of Azure.
	Protocol string
	Number   int
	What     string
}

// Settings of VXLAN on Windows, and the size of the packets in Azure's virtual network: 1400 bytes, of which the
// overlay needs 50. Source: https://kubernetes.io/docs/concepts/services-networking/windows-networking, and the Windows
// chapter of the book of kubernetes-sigs/cluster-api-provider-azure.
const (
	WindowsVNI       = 4096
	WindowsVXLANPort = 4789
	AzureMTU         = 1400
	OverlayMTU       = AzureMTU - 50
)

// hostProcess is the first minor version in which HostProcess containers are on by default. Source:
// https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.
const hostProcess = 23

// firstWithoutDocker is the first minor version without dockershim.
const firstWithoutDocker = 24

func vxlan() []Port { return []Port{{"Udp", WindowsVXLANPort, "VXLAN"}} }

// Networks returns the networks in the table of Kubernetes' introduction to Windows, each with its settings on Azure.
// Sources: https://kubernetes.io/docs/concepts/services-networking/windows-networking, network modes;
// https://learn.microsoft.com/virtualization/windowscontainers/container-networking/network-drivers-topologies.
func Networks() []Network {
	return []Network{
		{Name: "Calico VXLAN", Mode: "Overlay", Plugin: "calico", IPAM: "calico-ipam", Labels: map[string]string{"cni": "calico"},
			Addons: []string{"calico", "calico-windows"}, VNI: WindowsVNI, VXLANPort: WindowsVXLANPort, MTU: OverlayMTU,
			OwnExceptions: []string{"pods", "services"}, Ports: vxlan(), From: hostProcess, Rules: []string{"WIN820", "WIN821", "PRE207"}},
		{Name: "Azure CNI v1", Mode: "L2Bridge", Plugin: "azure-vnet", IPAM: "azure-vnet-ipam", Labels: map[string]string{"cni": "azure"},
			Addons: []string{"azure-cni", "azure-cni-windows"}, Exceptions: []string{"pods", "services"}, From: hostProcess,
			Rules: []string{"WIN823", "PRE202"}},
		{Name: "Flannel VXLAN (win-overlay)", Mode: "Overlay", Plugin: "win-overlay", IPAM: "host-local",
			Labels: map[string]string{"cni": "flannel-windows"},
			Addons: []string{"flannel", "flannel-windows"}, VNI: WindowsVNI, VXLANPort: WindowsVXLANPort, MTU: OverlayMTU,
			Exceptions: []string{"services", "pods"}, Ports: vxlan(), Releases: []string{"2019"}, Until: firstWithoutDocker,
			Rules: []string{"WIN821", "WIN822", "WIN823", "PRE207", "PRE208"}},
		{Name: "Flannel host-gw (win-bridge)", Mode: "L2Bridge", Plugin: "win-bridge", IPAM: "host-local",
			Exceptions: []string{"pods", "services", "nodes"},
			Refused: "Azure delivers a packet only to an address of an interface or by a route of the subnet's " +
				"table, so hosts are not adjacent: " +
				"each node would need a route of its own and IP forwarding, and Flannel writes no routes of Azure",
			Rules: []string{"WIN823", "PRE208"}},
		{Name: "Calico with BGP or IP in IP", Mode: "L2Bridge", Plugin: "calico", IPAM: "calico-ipam",
			Refused: "Azure's network speaks no BGP with machines, and Windows has no IP in IP", Rules: []string{"WIN820"}},
		{Name: "Azure CNI in a tunnel", Mode: "L2Tunnel", Plugin: "azure-vnet", IPAM: "azure-vnet-ipam",
			Refused: "only AKS installs its CNI in that mode; clusters of one's own have the bridge"},
		{Name: "ovn-kubernetes", Mode: "Transparent", Refused: "no release of it for clusters on Azure is published"},
		{Name: "nat", Mode: "NAT", Refused: "Kubernetes does not use it: pods of other nodes would not be reached by their own addresses"},
	}
}

// NetworkByLabels returns the network that a Cluster with these labels requests.
func NetworkByLabels(labels map[string]string) (Network, bool) {
	all := Networks()
	i := slices.IndexFunc(all, func(n Network) bool {
		for key, value := range n.Labels {
			if labels[key] != value {
				return false
			}
		}
		return len(n.Labels) > 0
	})
	if i < 0 {
		return Network{}, false
	}
	return all[i], true
}

// NetworkByPlugin returns the network of a CNI plug-in for Windows.
func NetworkByPlugin(plugin string) (Network, bool) {
	all := Networks()
	i := slices.IndexFunc(all, func(n Network) bool { return n.Plugin == plugin })
	if i < 0 {
		return Network{}, false
	}
	return all[i], true
}

// Ranges are the address ranges of a cluster.
type Ranges struct {
	Pods, Services, Nodes string
	// DNS is the address of the cluster's name server.
	DNS string
}

// of returns a range by its name.
func (r Ranges) of(name string) string {
	return map[string]string{"pods": r.Pods, "services": r.Services, "nodes": r.Nodes}[name]
}

// ExceptionList returns the networks for the CNI configuration whose addresses are not translated.
func (n Network) ExceptionList(r Ranges) []string {
	var out []string
	for _, name := range n.Exceptions {
		out = append(out, r.of(name))
	}
	return out
}

// CNIConfig returns the main parts of the CNI configuration of a Windows node; nil for a network whose mode no plug-in
// of Kubernetes supports.
func (n Network) CNIConfig(r Ranges) []byte {
	type object = map[string]any
	endpoint := func(value object) object { return object{"Name": "EndpointPolicy", "Value": value} }
	policies := []object{
		endpoint(object{"Type": "OutBoundNAT", "ExceptionList": n.ExceptionList(r)}),
		endpoint(object{"Type": "ROUTE", "DestinationPrefix": r.Services, "NeedEncap": true}),
	}
	dns := object{"Nameservers": []string{r.DNS}, "Search": []string{"svc.cluster.local"}}
	conf := object{"cniVersion": "0.3.0"}
	switch {
	case n.Plugin == "calico" && n.Refused == "":
		conf["name"], conf["type"], conf["mode"], conf["vxlan_vni"], conf["mtu"] = "Calico", "calico", "vxlan", n.VNI, n.MTU
		conf["ipam"], conf["dns"] = object{"type": n.IPAM}, dns
		conf["policies"] = []object{endpoint(object{"Type": "OutBoundNAT", "ExceptionList": []string{r.Services}})}
	case n.Plugin == "azure-vnet" && n.Refused == "":
		conf["name"] = "azure"
		conf["plugins"] = []object{{"type": "azure-vnet", "mode": "bridge", "bridge": "azure0",
			"ipam": object{"type": n.IPAM}, "dns": dns, "AdditionalArgs": policies}}
	case n.Plugin == "win-overlay":
		conf["name"], conf["type"] = "flannel.4096", "flannel"
		conf["delegate"] = object{"type": n.Plugin, "policies": policies}
	case n.Plugin == "win-bridge":
		conf["name"], conf["type"] = "cbr0", "flannel"
		conf["delegate"] = object{"type": n.Plugin, "dns": dns, "policies": policies}
	default:
		return nil
	}
	data, _ := json.MarshalIndent(conf, "", "  ") // maps and texts can always be marshalled
	return append(data, '\n')
}

// TakesRelease reports whether the network supports a Windows release.
func (n Network) TakesRelease(name string) bool {
	return len(n.Releases) == 0 || slices.Contains(n.Releases, name)
}
