package stub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/sim/fabric"
)

// cloud is a local Azure with one cluster's network.
type cloud struct {
	server *azuresim.Azure
	fabric *fabric.Fabric
	url    string
	arm    *arm
	config AzureConfig
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	f, err := fabric.New(fabric.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s, err := azuresim.New(azuresim.Config{PublicIP: f.PublicIP})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	c := &cloud{server: s, fabric: f, url: front.URL, config: AzureConfig{
		TenantID: azuresim.DefaultTenant, SubscriptionID: azuresim.DefaultSubscription, ClientID: s.Client().ID,
		ClientSecret:  s.Client().Secret,
		ResourceGroup: "rg", VNetResourceGroup: "rg", SecurityGroupGroup: "rg", Location: "westeurope",
		VNetName: "v", SubnetName: "nodes", SecurityGroup: "node-nsg",
	}}
	c.arm = &arm{azure: Azure{Endpoint: c.url, Authority: c.url, HTTP: http.DefaultClient}, c: c.config}
	ctx := t.Context()
	if err := c.arm.call(ctx, http.MethodPut, "/subscriptions/"+c.config.SubscriptionID+"/resourcegroups/rg",
		document{"location": "westeurope"}, nil); err != nil {
		t.Fatal(err)
	}
	nsg := c.arm.network("rg", "networkSecurityGroups", "node-nsg")
	for path, properties := range map[string]document{nsg: {}} {
		c.put(t, path, properties)
	}
	vnet := c.arm.network("rg", "virtualNetworks", "v")
	c.put(t, vnet, document{
		"addressSpace": document{"addressPrefixes": []any{"10.0.0.0/8"}},
		"subnets": []any{document{"name": "nodes", "properties": document{
			"addressPrefix": "10.215.0.0/16", "networkSecurityGroup": document{"id": nsg},
		}}},
	})
	for _, name := range []string{"n1", "n2"} {
		c.put(t, c.arm.network("rg", "networkInterfaces", name), document{"ipConfigurations": []any{
			document{"name": "c", "properties": document{"subnet": document{"id": vnet + "/subnets/nodes"}}},
		}})
	}
	f.Sync(fabric.Read(s.List))
	s.Subscribe(func(azuresim.Change) { f.Sync(fabric.Read(s.List)) })
	return c
}

func (c *cloud) put(t *testing.T, path string, properties document) {
	t.Helper()
	if _, err := c.arm.put(t.Context(), path, document{"location": "westeurope", "properties": properties}); err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) count(resourceType string) int { return len(c.server.List(resourceType)) }

// readyNode creates a node with a Ready condition and an address.
func readyNode(t *testing.T, name, ip, providerID string, ready corev1.ConditionStatus) {
	t.Helper()
	makeNode(t, name)
	n := getNode(t, name)
	n.Spec.ProviderID = providerID
	n, err := shared.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	if _, err := shared.client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestCloudControllerManager(t *testing.T) {
	cl := newCloud(t)
	ctx := t.Context()
	f := cl.fabric
	vm := "azure:///subscriptions/" + cl.config.SubscriptionID + "/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/"
	readyNode(t, "n1", "10.215.0.4", vm+"n1", corev1.ConditionTrue)
	readyNode(t, "n2", "10.215.0.5", vm+"n2", corev1.ConditionTrue)
	readyNode(t, "gone", "10.215.0.6", vm+"gone", corev1.ConditionFalse)
	readyNode(t, "never-initialised", "10.215.0.9", "", corev1.ConditionFalse)
	readyNode(t, "gone-instance", "10.215.0.8",
		strings.TrimSuffix(vm, "virtualMachines/")+"virtualMachineScaleSets/s/virtualMachines/3",
		corev1.ConditionFalse)
	readyNode(t, "elsewhere", "10.215.0.7",
		"azure:///subscriptions/other/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/x",
		corev1.ConditionFalse)

	c := New(Config{
		Key: "ccm", VNetID: cl.arm.network("rg", "virtualNetworks", "v"), Fabric: f,
		Azure: Azure{Endpoint: cl.url, Authority: cl.url},
	})
	dir, files := guest(t)
	if err := os.MkdirAll(filepath.Join(dir, "etc/kubernetes"), 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(cl.config)
	if err != nil {
		t.Fatal(err)
	}
	container := corev1.Container{Args: []string{"--cluster-name=demo", "--cloud-config=/etc/kubernetes/azure.json"}}
	env := Env{NodeName: "cp", OS: "linux", Files: files, Container: &container}
	if program, _ := c.Find("azure-cloud-controller-manager:v1"); program.Run(ctx, env) == nil {
		t.Error("it runs without azure.json")
	}
	if err := os.WriteFile(filepath.Join(dir, "etc/kubernetes/azure.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	// A load balancer with that name exists, for the nodes' outbound traffic.
	lb := cl.arm.network("rg", "loadBalancers", "demo")
	cl.arm.put(ctx, cl.arm.network("rg", "publicIPAddresses", "out"), document{
		"location": "westeurope", "sku": document{"name": "Standard"}, "properties": document{"publicIPAllocationMethod": "Static"},
	})
	if _, err := cl.arm.put(ctx, lb, document{"location": "westeurope", "sku": document{"name": "Standard"}, "properties": document{
		"frontendIPConfigurations": []any{document{"name": "demo-frontEnd", "properties": document{
			"publicIPAddress": document{"id": cl.arm.network("rg", "publicIPAddresses", "out")},
		}}},
		"backendAddressPools": []any{document{"name": "demo-outboundBackendPool"}},
		"outboundRules": []any{document{"name": "OutboundNATAllProtocols", "properties": document{
			"protocol": "All", "backendAddressPool": document{"id": lb + "/backendAddressPools/demo-outboundBackendPool"},
			"frontendIPConfigurations": []any{document{"id": lb + "/frontendIPConfigurations/demo-frontEnd"}},
		}}},
	}}); err != nil {
		t.Fatal(err)
	}
	out, stop := start(t, c, "mcr.microsoft.com/oss/kubernetes/azure-cloud-controller-manager:v1.36.1", env)

	eventually(t, "the node without a machine is deleted", func() bool {
		_, err := shared.client.CoreV1().Nodes().Get(ctx, "gone", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "the node of an instance whose scale set is gone is deleted", func() bool {
		_, err := shared.client.CoreV1().Nodes().Get(ctx, "gone-instance", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "the node that no machine is named after is deleted", func() bool {
		_, err := shared.client.CoreV1().Nodes().Get(ctx, "never-initialised", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	getNode(t, "elsewhere")

	svc := named(service("default", ""), "iis")
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	services := shared.client.CoreV1().Services("default")
	if svc, err = services.Create(ctx, svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer services.Delete(context.Background(), "iis", metav1.DeleteOptions{})
	slice := endpointSlice("default", "iis", "http", 8080, endpointSliceEndpoint("10.244.3.3", "n1"))
	slice.AddressType = "IPv4"
	slices := shared.client.DiscoveryV1().EndpointSlices("default")
	if _, err := slices.Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer slices.Delete(context.Background(), slice.Name, metav1.DeleteOptions{})
	f.Cluster("ccm").AddPod("default", "iis-1", netip.MustParseAddr("10.244.3.3"), []int32{8080}, func(_ int32, conn net.Conn) {
		io.WriteString(conn, "IIS")
	})
	start(t, c, "registry.k8s.io/kube-proxy:v1.36.3", Env{NodeName: "n1", OS: "linux", InternalIP: netip.MustParseAddr("10.215.0.4")})
	var address string
	eventually(t, "the service has an address\n", func() bool {
		if svc, err = services.Get(ctx, "iis", metav1.GetOptions{}); err != nil || len(svc.Status.LoadBalancer.Ingress) == 0 {
			return false
		}
		address = svc.Status.LoadBalancer.Ingress[0].IP
		return true
	})
	eventually(t, "the service answers from outside", func() bool {
		conn, err := net.Dial("tcp", address+":80")
		if err != nil {
			return false
		}
		defer conn.Close()
		data, _ := io.ReadAll(conn)
		return string(data) == "IIS"
	})
	if n := cl.count("Microsoft.Network/publicIPAddresses"); n != 2 {
		t.Errorf("%d public IPs, want 2", n)
	}
	if body, _ := cl.server.Get(lb); !strings.Contains(string(body), "OutboundNATAllProtocols") {
		t.Errorf("the outbound rule is lost: %s", body)
	}
	if err := services.Delete(ctx, "iis", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service is gone\n"+out.String(), func() bool {
		_, err := services.Get(ctx, "iis", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if n := cl.count("Microsoft.Network/publicIPAddresses"); n != 1 {
		t.Errorf("%d public IPs, want 1", n)
	}
	body, _ := cl.server.Get(lb)
	if strings.Contains(string(body), frontendName(svc)) || !strings.Contains(string(body), "OutboundNATAllProtocols") {
		t.Errorf("load balancer after the service: %s", body)
	}
	if group, _ := cl.server.Get(cl.arm.network("rg", "networkSecurityGroups",
		"node-nsg")); strings.Contains(string(group), frontendName(svc)) {
		t.Errorf("security group after the service: %s", group)
	}
	if conn, err := net.Dial("tcp", address+":80"); err == nil {
		conn.Close()
		t.Error("the address still answers")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(out.String(), "hush") {
		t.Error("the secret is in the log")
	}
	if t.Failed() {
		fmt.Println(out)
	}
}
