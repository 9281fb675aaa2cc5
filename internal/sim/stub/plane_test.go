package stub

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/testing/kubetest"
)

// cluster is the API server of these tests.
type cluster struct {
	config *rest.Config
	client *kubernetes.Clientset
}

var shared cluster

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) error {
		client, err := kubernetes.NewForConfig(p.Config())
		shared = cluster{p.Config(), client}
		return err
	}))
}

const testVNet = "/subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/rg/providers/microsoft.network/virtualnetworks/v"

func newCluster(t *testing.T) (*Cluster, *fabric.Fabric) {
	t.Helper()
	f, err := fabric.New(fabric.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	f.Sync(fabric.Model{
		Networks: []fabric.Network{{ID: testVNet, Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}},
		Interfaces: []fabric.Interface{{ID: "nic", Configs: []fabric.IPConfig{
			{ID: "nic/c", VNet: testVNet, IP: netip.MustParseAddr("10.214.0.4")},
		}}},
	})
	return New(Config{Key: "c", VNetID: testVNet, Fabric: f}), f
}

// log is a container's log.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs the stub of an image; stop ends it and returns its error.
func start(t *testing.T, c *Cluster, image string, env Env) (out *log, stop func() error) {
	t.Helper()
	program, ok := c.Find(image)
	if !ok {
		t.Fatalf("no stub for %s", image)
	}
	out = &log{}
	env.Out = out
	env.Config = func(context.Context) (*rest.Config, error) { return shared.config, nil }
	if env.Files == nil {
		_, env.Files = guest(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- program.Run(ctx, env) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { stop() })
	return out, stop
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		case <-tick.C:
		}
	}
}

func makeNode(t *testing.T, name string, taints ...corev1.Taint) {
	t.Helper()
	nodes := shared.client.CoreV1().Nodes()
	_, err := nodes.Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nodes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

func getNode(t *testing.T, name string) *corev1.Node {
	t.Helper()
	n, err := shared.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func answer(f *fabric.Fabric, from fabric.Origin, to string) string {
	c, err := f.Dial(context.Background(), from, "tcp", to)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	data, _ := io.ReadAll(c)
	return string(data)
}

// TestProblemDetector: its conditions are added to the kubelet's.
func TestProblemDetector(t *testing.T) {
	c, _ := newCluster(t)
	makeNode(t, "problems")
	node := getNode(t, "problems")
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := shared.client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	start(t, c, "registry.k8s.io/node-problem-detector/node-problem-detector-windows:v1.36.0", Env{NodeName: "problems", OS: "windows"})
	eventually(t, "the node has the conditions", func() bool {
		found := map[corev1.NodeConditionType]corev1.ConditionStatus{}
		for _, c := range getNode(t, "problems").Status.Conditions {
			found[c.Type] = c.Status
		}
		return len(found) == 4 && found[corev1.NodeReady] == corev1.ConditionTrue && found["HostNetworkUnhealthy"] == corev1.ConditionFalse
	})
}

func TestKubeProxyAndDNS(t *testing.T) {
	c, f := newCluster(t)
	ctx := t.Context()
	svc := service("default", "web")
	svc.Spec.Type, svc.Spec.ClusterIPs, svc.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, nil, 0
	svc, err := shared.client.CoreV1().Services("default").Create(ctx, svc, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shared.client.CoreV1().Services("default").Delete(context.Background(), "web", metav1.DeleteOptions{})
	})
	slice := endpointSlice("default", "web", "http", 8080)
	slice.AddressType = "IPv4"
	slice.Endpoints = append(slice.Endpoints, endpointSliceEndpoint("10.244.3.3", "win1"))
	if _, err := shared.client.DiscoveryV1().EndpointSlices("default").Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shared.client.DiscoveryV1().EndpointSlices("default").Delete(context.Background(), slice.Name, metav1.DeleteOptions{})
	})
	f.Cluster("c").AddPod("default", "web-1", netip.MustParseAddr("10.244.3.3"), []int32{8080}, func(_ int32, conn net.Conn) {
		io.WriteString(conn, "hello")
	})
	from := fabric.Origin{VNetID: testVNet, IP: netip.MustParseAddr("10.214.0.4"), Cluster: "c"}
	nodePort := fmt.Sprintf("10.214.0.4:%d", svc.Spec.Ports[0].NodePort)

	_, files := guest(t)
	env := Env{NodeName: "win1", OS: "windows", InternalIP: from.IP, Files: files, Vars: map[string]string{"NODE_NAME": "win1"}}
	out, stop := start(t, c, "sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess", env)
	eventually(t, "it waits for the CNI", func() bool { return strings.Contains(out.String(), "Waiting for the HNS network") })
	if got := answer(f, from, nodePort); !strings.Contains(got, "refused") {
		t.Errorf("node port before the CNI = %q", got)
	}
	if err := installCalico(env); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node port answers", func() bool { return answer(f, from, nodePort) == "hello" })
	if got := answer(f, from, svc.Spec.ClusterIP+":80"); got != "hello" {
		t.Errorf("cluster address = %q", got)
	}
	if got := answer(f, from, "web.default.svc.cluster.local:80"); !strings.Contains(got, "no route") {
		t.Errorf("a name without CoreDNS = %q", got)
	}
	_, stopDNS := start(t, c, "registry.k8s.io/coredns/coredns:v1.14.0", Env{NodeName: "cp", OS: "linux"})
	eventually(t, "the name answers", func() bool { return answer(f, from, "web.default.svc.cluster.local:80") == "hello" })
	if err := stop(); err != nil {
		t.Error(err)
	}
	// The machine ended together with its kube-proxy; its ports close by themselves.
	eventually(t, "the node port is closed", func() bool { return strings.Contains(answer(f, from, nodePort), "refused") })
	// The watch continues over the other member's connection.
	if _, err := shared.client.CoreV1().Services("default").Create(ctx, named(service("default", "late"), "late"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shared.client.CoreV1().Services("default").Delete(context.Background(), "late", metav1.DeleteOptions{})
	})
	eventually(t, "a service made later is known", func() bool { _, ok := c.Resolve("default", "late"); return ok })
	if err := stopDNS(); err != nil {
		t.Error(err)
	}
}

// TestWatchHandedOver: after the member whose connection the watch uses has left, endpoints are
// still followed until the next member is connected, however long that takes.
func TestWatchHandedOver(t *testing.T) {
	c, _ := newCluster(t)
	connected, asked := make(chan struct{}), make(chan struct{})
	leave := c.watch.join(func(context.Context) (*rest.Config, error) { return shared.config, nil })
	leaveSlow := c.watch.join(func(ctx context.Context) (*rest.Config, error) {
		close(asked)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-connected:
			return shared.config, nil
		}
	})
	defer leaveSlow()
	known := func(name string) {
		t.Helper()
		services := shared.client.CoreV1().Services("default")
		if _, err := services.Create(t.Context(), named(service("default", name), name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { services.Delete(context.Background(), name, metav1.DeleteOptions{}) })
		eventually(t, name+" is known", func() bool { _, ok := c.watch.resolve(name + ".default"); return ok })
	}
	known("before")
	leave()
	<-asked
	known("between")
	close(connected)
	known("after")
}

func TestCloudNodeManager(t *testing.T) {
	c, _ := newCluster(t)
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata") != "true" || r.URL.Path != "/metadata/instance" {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"compute":{"resourceId":"/subscriptions/s/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/win1",
			"location":"westeurope","vmSize":"Standard_D2s_v3","zone":"2","name":"win1"},
			"network":{"interface":[{"ipv4":{"ipAddress":[{"privateIpAddress":"10.1.0.5","publicIpAddress":""}]}}]}}`)
	}))
	defer metadata.Close()
	env := Env{NodeName: "cnm-node", OS: "windows", Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "169.254.169.254:80" {
			return nil, fmt.Errorf("dialled %s", address)
		}
		return new(net.Dialer).DialContext(ctx, network, metadata.Listener.Addr().String())
	}}
	other := corev1.Taint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}
	makeNode(t, "cnm-node", corev1.Taint{Key: cloudTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}, other)
	_, stop := start(t, c, "mcr.microsoft.com/oss/kubernetes/azure-cloud-node-manager:v1.36.1", env)
	eventually(t, "the provider ID is set", func() bool { return getNode(t, "cnm-node").Spec.ProviderID != "" })
	n := getNode(t, "cnm-node")
	if want := "azure:///subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/win1"; n.Spec.ProviderID != want {
		t.Errorf("provider ID %s", n.Spec.ProviderID)
	}
	for _, taint := range n.Spec.Taints {
		if taint.Key == cloudTaint {
			t.Error("the cloud taint is still there")
		}
	}
	if len(n.Spec.Taints) == 0 {
		t.Error("another taint is gone too")
	}
	if internalIP(n) != "10.1.0.5" || n.Labels[corev1.LabelTopologyZone] != "westeurope-2" ||
		n.Labels[corev1.LabelInstanceTypeStable] != "Standard_D2s_v3" {
		t.Errorf("addresses %v, labels %v", n.Status.Addresses, n.Labels)
	}
	if err := shared.client.CoreV1().Nodes().Delete(t.Context(), "cnm-node", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	makeNode(t, "cnm-node", corev1.Taint{Key: cloudTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	c.nodeAdded("cnm-node")
	eventually(t, "a node that registers again is initialised too", func() bool { return getNode(t, "cnm-node").Spec.ProviderID != "" })
	if err := stop(); err != nil {
		t.Error(err)
	}

	makeNode(t, "no-taint")
	env.NodeName = "no-taint"
	out, stop := start(t, c, "mcr.microsoft.com/oss/kubernetes/azure-cloud-node-manager:v1.36.1", env)
	eventually(t, "it says why it does nothing",
		func() bool { return strings.Contains(out.String(), "registered without the cloud taint") })
	if id := getNode(t, "no-taint").Spec.ProviderID; id != "" {
		t.Errorf("provider ID %s of a node without the taint", id)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestFlannelNeedsPodCIDR(t *testing.T) {
	c, _ := newCluster(t)
	makeNode(t, "flannel-node")
	conf := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "flannel-conf"}, Data: map[string]string{
		"net-conf.json": `{"Network": "10.240.0.0/12", "Backend": {"Type": "vxlan", "MTU": 1420}}`,
		"cni-conf.json": `{"name": "flannel.4096", "type": "flannel", "delegate": {"type": "win-overlay", "policies": [{"Value": ` +
			`{"Type": "OutBoundNAT", "ExceptionList": ["10.96.0.0/12"]}}]}}`}}
	if _, err := shared.client.CoreV1().ConfigMaps("default").Create(t.Context(), conf, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	mounts := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "conf",
		VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "flannel-conf"}}}}}}}
	env := Env{NodeName: "flannel-node", OS: "windows", InternalIP: netip.MustParseAddr("10.1.0.5"), Pod: mounts, MTU: 1400}
	_, env.Files = guest(t)
	program, _ := c.Find("sigwindowstools/flannel:v0.13.0-nanoserver")
	env.Config = func(context.Context) (*rest.Config, error) { return shared.config, nil }
	env.NodeConfig = env.Config
	if err := program.Run(t.Context(), env); err == nil || !strings.Contains(err.Error(), "pod cidr not assigned") {
		t.Errorf("without a pod CIDR: %v", err)
	}
	n := getNode(t, "flannel-node")
	n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.244.7.0/24", []string{"10.244.7.0/24"}
	if _, err := shared.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, stop := start(t, c, "sigwindowstools/flannel:v0.13.0-nanoserver", env)
	eventually(t, "the node is annotated", func() bool {
		return strings.Contains(getNode(t, "flannel-node").Annotations["flannel.alpha.coreos.com/backend-data"], `"VNI":4096`)
	})
	if !networkReady(env) {
		t.Error("no CNI configuration")
	}
	data, err := env.Files.ReadFile("/run/flannel/subnet.env")
	if err != nil || !strings.Contains(string(data), "FLANNEL_SUBNET=10.244.7.1/24") ||
		!strings.Contains(string(data), "FLANNEL_NETWORK=10.240.0.0/12") || !strings.Contains(string(data), "FLANNEL_MTU=1370") {
		t.Errorf("subnet.env: %s, %v", data, err)
	}
	if data, err := env.Files.ReadFile(confDir + "/10-flannel.conf"); err != nil || string(data) != conf.Data["cni-conf.json"] {
		t.Errorf("the CNI configuration is not the manifest's: %s, %v", data, err)
	}
	env.Pod = nil
	if _, mtu := flannelNetwork(t.Context(), env); mtu != 1350 { // as in the guide: the interface's MTU less VXLAN's 50
		t.Errorf("without a configured MTU pods have %d", mtu)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
