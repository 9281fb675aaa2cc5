package stub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// cloudTaint marks a node that a cloud provider has not initialised yet. Source: k8s.io/cloud-provider/api,
// TaintExternalCloudProvider.
const cloudTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// Instance describes a machine as the cloud does.
type Instance struct {
	// ProviderID is "azure://" and the ARM ID with the resource group in lower case.
	ProviderID, Type, Region, Zone string
	Addresses                      []corev1.NodeAddress
}

// statusInterval is the interval at which a node manager reads its node without a signal.
const statusInterval = 5 * time.Minute

// nodeAdded signals the node manager of a node that the node was created: a kubelet that registers
// again does so with the cloud taint. The signal replaces a watch in each node manager.
func (c *Cluster) nodeAdded(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.added[name] <- struct{}{}:
	default: // no manager, or it has not received the last signal yet
	}
}

// manages returns the channel that nodeAdded signals for a node until leave is called.
func (c *Cluster) manages(name string) (added <-chan struct{}, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	signal := make(chan struct{}, 1)
	c.added[name] = signal
	return signal, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.added[name] == signal {
			delete(c.added, name)
		}
	}
}

// nodeManager runs the stub of the cloud-node-manager: it reads the description of its machine from
// the metadata service and initialises the node. Like the real one it ignores a node that was
// registered without the cloud taint.
func (c *Cluster) nodeManager(ctx context.Context, env Env) error {
	name := env.flag("node-name")
	if name == "" || strings.Contains(name, "$(") {
		name = env.NodeName
	}
	added, leave := c.manages(name)
	defer leave()
	for last := ""; ; {
		select {
		case <-added: // the next read happens after this event
		default:
		}
		err := initialise(ctx, name, env)
		if ctx.Err() != nil {
			return nil
		}
		wait := statusInterval
		if err != nil {
			wait = time.Second
			if err.Error() != last {
				last = err.Error()
				env.printf("node %s: %s", name, last)
			}
		}
		again := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-added:
		case <-again.C:
		}
		again.Stop()
	}
}

func initialise(ctx context.Context, name string, env Env) error {
	core, err := env.core(ctx)
	if err != nil {
		return err
	}
	node, err := core.Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(node.Spec.Taints, isCloudTaint) {
		if node.Spec.ProviderID == "" {
			env.printf("This node %s is registered without the cloud taint. Will not process.", name)
		}
		return nil
	}
	instance, err := env.metadata(ctx)
	if err != nil {
		return fmt.Errorf("ask the metadata service: %w", err)
	}
	if err := initialiseNode(ctx, core, node, instance); err != nil {
		return err
	}
	env.printf("Successfully initialized node %s with cloud provider", name)
	return nil
}

func isCloudTaint(t corev1.Taint) bool { return t.Key == cloudTaint }

// initialiseNode writes the cloud's description of a machine to its node: first the addresses, then
// the provider ID and labels; it removes the cloud taint.
func initialiseNode(ctx context.Context, core corev1client.NodesGetter, node *corev1.Node, instance Instance) error {
	addresses, err := json.Marshal(map[string]any{"status": map[string]any{"addresses": mergeAddresses(node, instance.Addresses)}})
	if err != nil {
		return err
	}
	if _, err := core.Nodes().Patch(ctx, node.Name, types.MergePatchType, addresses, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("set the addresses: %w", err)
	}
	for {
		patch, err := instance.patch(node)
		if err != nil {
			return err
		}
		_, err = core.Nodes().Patch(ctx, node.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsInvalid(err) || ctx.Err() != nil {
			return err
		}
		// The patch's test failed: the taints have changed.
		if node, err = core.Nodes().Get(ctx, node.Name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
}

// patch returns a JSON patch of labels, provider ID and taints. Taints are replaced as a whole, so
// the patch tests that they have not changed; other changes of the node do not matter. It drops
// managedFields, the record of the writers of each field: they are half of a node's size, and the
// API server would compute them at each of the many following writes.
func (i Instance) patch(node *corev1.Node) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	operations := []operation{
		{"test", "/spec/taints", node.Spec.Taints},
		{"replace", "/spec/taints", slices.DeleteFunc(slices.Clone(node.Spec.Taints), isCloudTaint)},
	}
	if len(node.ManagedFields) > 0 {
		operations = append(operations, operation{"add", "/metadata/managedFields", []metav1.ManagedFieldsEntry{{}}})
	}
	if node.Spec.ProviderID == "" {
		operations = append(operations, operation{"add", "/spec/providerID", i.ProviderID})
	}
	if node.Labels == nil {
		operations = append(operations, operation{"add", "/metadata/labels", map[string]string{}})
	}
	labels := i.labels()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		// Source of the escapes: RFC 6901, section 3.
		path := "/metadata/labels/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		operations = append(operations, operation{"add", path, labels[key]})
	}
	return json.Marshal(operations)
}

// labels returns the labels that the cloud sets on a node, under their stable and their old
// names.
func (i Instance) labels() map[string]string {
	out := map[string]string{}
	for value, keys := range map[*string][]string{
		&i.Type:   {corev1.LabelInstanceTypeStable, corev1.LabelInstanceType},
		&i.Region: {corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion},
		&i.Zone:   {corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone},
	} {
		for _, k := range keys {
			if *value != "" {
				out[k] = *value
			}
		}
	}
	return out
}

// mergeAddresses returns the cloud's addresses, followed by the node's addresses of other types.
func mergeAddresses(node *corev1.Node, cloud []corev1.NodeAddress) []corev1.NodeAddress {
	out := slices.Clone(cloud)
	for _, a := range node.Status.Addresses {
		if !slices.ContainsFunc(out, func(o corev1.NodeAddress) bool { return o.Type == a.Type }) {
			out = append(out, a)
		}
	}
	return out
}

// metadata reads the description of the machine from the instance metadata service. Source:
// learn.microsoft.com/azure/virtual-machines/instance-metadata-service.
func (e Env) metadata(ctx context.Context) (Instance, error) {
	var doc struct {
		Compute struct {
			ResourceID string `json:"resourceId"`
			Location   string `json:"location"`
			VMSize     string `json:"vmSize"`
			Zone       string `json:"zone"`
			Name       string `json:"name"`
		} `json:"compute"`
		Network struct {
			Interface []struct {
				IPv4 struct {
					Addresses []struct {
						Private string `json:"privateIpAddress"`
						Public  string `json:"publicIpAddress"`
					} `json:"ipAddress"`
				} `json:"ipv4"`
			} `json:"interface"`
		} `json:"network"`
	}
	if err := e.askMetadata(ctx, "/metadata/instance?api-version=2021-02-01&format=json", &doc); err != nil {
		return Instance{}, err
	}
	i := Instance{
		ProviderID: ProviderID(doc.Compute.ResourceID), Type: doc.Compute.VMSize,
		Region: strings.ToLower(doc.Compute.Location), Zone: ZoneLabel(doc.Compute.Location, doc.Compute.Zone),
	}
	for _, n := range doc.Network.Interface {
		for _, a := range n.IPv4.Addresses {
			if a.Private != "" {
				i.Addresses = append(i.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.Private})
			}
			if a.Public != "" {
				i.Addresses = append(i.Addresses, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: a.Public})
			}
		}
	}
	if doc.Compute.ResourceID == "" || len(i.Addresses) == 0 {
		return Instance{}, errors.New("the answer names no machine or no address")
	}
	i.Addresses = append(i.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: e.NodeName})
	return i, nil
}

// askMetadata sends a request to the metadata service from inside the machine.
func (e Env) askMetadata(ctx context.Context, path string, into any) error {
	return Metadata(e.Dial)(ctx, path, into)
}

// Metadata returns a client of the instance metadata service; dial must connect from the machine.
// path includes the query; the answer is decoded from JSON.
func Metadata(dial func(ctx context.Context,
	network, address string) (net.Conn, error)) func(ctx context.Context, path string, into any) error {
	return func(ctx context.Context, path string, into any) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://169.254.169.254"+path, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Metadata", "true")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %s", req.URL.Path, resp.Status)
		}
		return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
	}
}

// ProviderID returns the provider ID of a virtual machine: its resource ID with the resource group
// in lower case.
func ProviderID(resourceID string) string {
	parts := strings.Split(resourceID, "/")
	for i := range parts {
		if strings.EqualFold(parts[i], "resourceGroups") && i+1 < len(parts) {
			parts[i+1] = strings.ToLower(parts[i+1])
		}
	}
	return "azure://" + strings.Join(parts, "/")
}

// ZoneLabel returns the zone label of a machine: region and zone, or "0", the fault domain, for a
// machine without a zone.
func ZoneLabel(location, zone string) string {
	if zone == "" {
		return "0"
	}
	return strings.ToLower(location) + "-" + zone
}
