package stub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// write writes a file on the node and notifies the kubelet.
func (e Env) write(guest, content string) error {
	if old, err := e.Files.ReadFile(guest); err == nil && string(old) == content {
		return nil
	}
	// containerd can read the directory at any time and must not see half a file.
	if err := e.Files.Replace(guest, []byte(content), 0o644); err != nil {
		return err
	}
	e.printf("wrote %s", guest)
	e.touched()
	return nil
}

// calicoConf returns the main parts of a CNI configuration of Calico.
func calicoConf(env Env) string {
	plugin := map[string]any{
		"type": "calico", "datastore_type": "kubernetes", "nodename": env.NodeName, "mtu": 1350,
		"ipam":       map[string]any{"type": "calico-ipam"},
		"policy":     map[string]any{"type": "k8s"},
		"kubernetes": map[string]any{"kubeconfig": confDir + "/calico-kubeconfig"},
	}
	name := "k8s-pod-network"
	plugins := []any{plugin, map[string]any{"type": "portmap", "snat": true, "capabilities": map[string]any{"portMappings": true}}}
	if env.OS == "windows" {
		name = "Calico"
		plugin["name"], plugin["mode"], plugin["vxlan_vni"], plugin["vxlan_mac_prefix"] = name, "vxlan", 4096, "0E-2A"
		plugin["windows_use_single_network"] = true
		plugin["capabilities"] = map[string]any{"dns": true}
		if services := env.Vars["K8S_SERVICE_CIDR"]; services != "" {
			plugin["policies"] = []any{
				endpointPolicy(map[string]any{"Type": "OutBoundNAT", "ExceptionList": []string{services}}),
				endpointPolicy(map[string]any{"Type": "SDNROUTE", "DestinationPrefix": services, "NeedEncap": true}),
			}
		}
		if servers := env.Vars["DNS_NAME_SERVERS"]; servers != "" {
			plugin["dns"] = map[string]any{"Nameservers": strings.Split(servers, ","), "Search": strings.Split(env.Vars["DNS_SEARCH"], ",")}
		}
		plugins = plugins[:1]
	}
	if mtu, err := strconv.Atoi(env.Vars["CNI_MTU"]); err == nil && mtu > 0 {
		plugin["mtu"] = mtu
	}
	data, _ := json.MarshalIndent(map[string]any{"name": name, "cniVersion": "0.3.1", "plugins": plugins}, "", "  ")
	return string(data) + "\n"
}

func endpointPolicy(value map[string]any) map[string]any {
	return map[string]any{"Name": "EndpointPolicy", "Value": value}
}

// configured returns a file from a ConfigMap that a container of the pod mounts: the first file
// whose name ends with suffix. It contains the manifest's configuration of the plug-in.
func (e Env) configured(ctx context.Context, suffix string) (string, bool) {
	if e.NodeConfig == nil || e.Pod == nil {
		return "", false
	}
	config, err := e.NodeConfig(ctx) // a node may read the objects that its pods mount
	if err != nil {
		return "", false
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return "", false
	}
	for _, v := range e.Pod.Spec.Volumes {
		if v.ConfigMap == nil {
			continue
		}
		m, err := core.ConfigMaps(e.Pod.Namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(m.Data)) {
			if strings.HasSuffix(key, suffix) {
				return m.Data[key], true
			}
		}
	}
	return "", false
}

func installCalico(env Env) error {
	// The real file contains a token, which nothing here needs.
	if err := env.write(confDir+"/calico-kubeconfig", "# casement: simulated, holds no credentials\n"); err != nil {
		return err
	}
	return env.write(confDir+"/10-calico.conflist", calicoConf(env))
}

func (c *Cluster) calicoInstall(ctx context.Context, env Env) error {
	if err := installCalico(env); err != nil {
		return err
	}
	if env.init() || env.Vars["SLEEP"] == "false" {
		return nil
	}
	<-ctx.Done()
	return nil
}

// calicoNode adds the node to the overlay network. In some manifests the same image also installs
// the CNI configuration; writing it twice changes nothing.
func (c *Cluster) calicoNode(ctx context.Context, env Env) error {
	if err := installCalico(env); err != nil {
		return err
	}
	if env.init() {
		return nil
	}
	if env.felix() { // the other container writes the node's annotations
		<-ctx.Done()
		return nil
	}
	tunnel, mac := tunnelOf(env)
	c.annotateUntilDone(ctx, env, map[string]string{
		"projectcalico.org/IPv4Address":         env.InternalIP.String() + "/16",
		"projectcalico.org/IPv4VXLANTunnelAddr": tunnel,
		"projectcalico.org/VXLANTunnelMACAddr":  mac,
	})
	<-ctx.Done()
	return nil
}

// felix reports whether a container runs only Calico's agent Felix, as one of Calico's two
// containers on Windows does.
func (e Env) felix() bool {
	return e.Container != nil && strings.Contains(strings.Join(e.Container.Command, " "), "felix-service")
}

// tunnelOf returns a tunnel address and MAC for a node that are always the same.
func tunnelOf(env Env) (ip, mac string) {
	h := fnv.New32a()
	h.Write([]byte(env.NodeName))
	n := h.Sum32()
	return fmt.Sprintf("192.168.%d.%d", byte(n>>8), byte(n)|1),
		fmt.Sprintf("66:%02x:%02x:%02x:%02x:01", byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// annotateUntilDone sets annotations on the node and retries until that succeeds.
func (c *Cluster) annotateUntilDone(ctx context.Context, env Env, annotations map[string]string) {
	for last := ""; ; {
		err := annotate(ctx, env, annotations)
		if err == nil || ctx.Err() != nil {
			return
		}
		if err.Error() != last {
			last = err.Error()
			env.printf("annotate node %s: %s", env.NodeName, last)
		}
		if !pause(ctx, time.Second) {
			return
		}
	}
}

func annotate(ctx context.Context, env Env, annotations map[string]string) error {
	core, err := env.core(ctx)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	// CNIs may patch only the status of nodes; the patch of the status also writes the annotations.
	_, err = core.Nodes().Patch(ctx, env.NodeName, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// core returns a client with the pod's service account.
func (e Env) core(ctx context.Context) (corev1client.CoreV1Interface, error) {
	config, err := e.Config(ctx)
	if err != nil {
		return nil, err
	}
	return corev1client.NewForConfig(config)
}

func (e Env) node(ctx context.Context) (*corev1.Node, error) {
	core, err := e.core(ctx)
	if err != nil {
		return nil, err
	}
	return core.Nodes().Get(ctx, e.NodeName, metav1.GetOptions{})
}

// flannel runs the stub of flanneld, or in an init container copies its configuration. Like
// flanneld with --kube-subnet-mgr it ends with an error if the controller manager assigns no CIDRs
// to nodes.
func (c *Cluster) flannel(ctx context.Context, env Env) error {
	name, content := "10-flannel.conflist", flannelLinux
	if env.OS == "windows" {
		name, content = "10-flannel.conf", flannelWindows
	}
	if env.init() {
		if strings.Contains(strings.Join(env.args(), " "), "cni-conf.json") {
			return env.write(confDir+"/"+name, c.ofFlannel(ctx, env, content))
		}
		return nil
	}
	node, err := env.node(ctx)
	if err != nil {
		return err
	}
	subnet, err := netip.ParsePrefix(node.Spec.PodCIDR)
	if err != nil {
		return fmt.Errorf("error registering network: failed to acquire lease: node %q pod cidr not assigned", env.NodeName)
	}
	network, mtu := flannelNetwork(ctx, env)
	env4 := fmt.Sprintf("FLANNEL_NETWORK=%s\nFLANNEL_SUBNET=%s/%d\nFLANNEL_MTU=%d\n"+
		"FLANNEL_IPMASQ=true\n", network, subnet.Addr().Next(), subnet.Bits(), mtu)
	conf := c.ofFlannel(ctx, env, content)
	if err := errors.Join(env.write("/run/flannel/subnet.env", env4), env.write(confDir+"/"+name, conf)); err != nil {
		return err
	}
	_, mac := tunnelOf(env)
	c.annotateUntilDone(ctx, env, map[string]string{
		"flannel.alpha.coreos.com/backend-type":        "vxlan",
		"flannel.alpha.coreos.com/backend-data":        fmt.Sprintf(`{"VNI":4096,"VtepMAC":%q}`, mac),
		"flannel.alpha.coreos.com/public-ip":           env.InternalIP.String(),
		"flannel.alpha.coreos.com/kube-subnet-manager": "true",
	})
	<-ctx.Done()
	return nil
}

// vxlanHeader is the number of bytes that VXLAN adds to each packet. Source:
// https://github.com/flannel-io/flannel/issues/1011.
const vxlanHeader = 50

// flannelNetwork returns the range of pods and the MTU of their interfaces: from net-conf.json, or
// else the node's own MTU less vxlanHeader.
func flannelNetwork(ctx context.Context, env Env) (network string, mtu int) {
	var conf struct {
		Network string
		Backend struct{ MTU int }
	}
	if text, ok := env.configured(ctx, "net-conf.json"); ok {
		_ = json.Unmarshal([]byte(text), &conf) // an invalid document has no MTU
	}
	return cmp.Or(conf.Network, "10.244.0.0/16"), cmp.Or(conf.Backend.MTU, env.MTU, 1400) - vxlanHeader
}

// ofFlannel returns the CNI configuration in the manifest, or else otherwise.
func (c *Cluster) ofFlannel(ctx context.Context, env Env, otherwise string) string {
	if text, ok := env.configured(ctx, "cni-conf.json"); ok {
		return text
	}
	return otherwise
}

const flannelLinux = `{
  "name": "cbr0",
  "cniVersion": "0.3.1",
  "plugins": [
    {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

const flannelWindows = `{
  "name": "flannel.4096",
  "cniVersion": "0.3.0",
  "type": "flannel",
  "capabilities": {"dns": true},
  "delegate": {"type": "win-overlay"}
}
`

// azureCNI writes Azure's CNI configuration when it runs as an init container whose arguments name
// a .conflist file. An init container without such arguments does nothing, and any other container
// waits until ctx ends.
func (c *Cluster) azureCNI(ctx context.Context, env Env) error {
	if !env.init() {
		<-ctx.Done()
		return nil
	}
	if !strings.Contains(strings.Join(env.args(), " "), ".conflist") {
		return nil
	}
	mode := "transparent"
	if env.OS == "windows" {
		mode = "bridge"
	}
	text, ok := env.configured(ctx, ".conflist")
	if !ok {
		text = fmt.Sprintf(azureConf, mode)
	}
	return env.write(confDir+"/10-azure.conflist", text)
}

const azureConf = `{
  "cniVersion": "0.3.0",
  "name": "azure",
  "plugins": [
    {"type": "azure-vnet", "mode": %q, "ipam": {"type": "azure-vnet-ipam"}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`
