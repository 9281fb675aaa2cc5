package stub

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/testing/guesttree"
)

func TestFind(t *testing.T) {
	for image, want := range map[string]string{
		"registry.k8s.io/kube-proxy:v1.36.3":                                      "kube-proxy",
		"k8s.gcr.io/kube-proxy-amd64:v1.12.0":                                     "kube-proxy",
		"sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess":                   "kube-proxy",
		"docker.io/calico/node:v3.31.3":                                           "calico-node",
		"calico/node-windows:v3.31.3":                                             "calico-node",
		"docker.io/calico/cni-windows:v3.31.3":                                    "calico-install",
		"sigwindowstools/calico-node:v3.20.0-hostprocess":                         "calico-node",
		"docker.io/calico/kube-controllers:v3.31.3":                               "idle",
		"docker.io/flannel/flannel:v0.26.3":                                       "flannel",
		"docker.io/flannel/flannel-cni-plugin:v1.6.0-flannel1":                    "cni-plugin",
		"mcr.microsoft.com/containernetworking/azure-cni:v1.6.21":                 "azure-cni",
		"registry.k8s.io/networking/ip-masq-agent:v2.8.0":                         "idle",
		"registry.k8s.io/coredns/coredns:v1.14.0":                                 "coredns",
		"localhost:5000/coredns/coredns@sha256:0123":                              "coredns",
		"mcr.microsoft.com/oss/kubernetes/azure-cloud-controller-manager:v1.36.1": "cloud-controller-manager",
		"mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager:v1.36.1":    "cloud-node-manager",
		"ghcr.io/kubernetes-sigs/sig-windows/csi-proxy:v1.1.3":                    "idle",
		"mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019":     "",
		"example.com/my-kube-proxy:1":                                             "",
		"node:22":                                                                 "",
	} {
		e, ok := find(image)
		if e.Name != want || ok != (want != "") {
			t.Errorf("find(%s) = %q, %t; want %q", image, e.Name, ok, want)
		}
	}
	if len(List()) != len(entries()) {
		t.Error("List leaves stubs out")
	}
}

// TestEveryAddonImageHasAStub: without a stub of the CNI, for example, the node would have no CNI.
func TestEveryAddonImageHasAStub(t *testing.T) {
	for _, a := range addons.All() {
		data, err := a.Render(addons.Params{})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if image, ok := strings.CutPrefix(strings.TrimSpace(line), "image: "); ok {
				if _, ok := find(image); !ok {
					t.Errorf("addon %s: no stub for %s", a.Name, image)
				}
			}
		}
	}
}

func service(namespace, name string, ips ...string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{ClusterIPs: ips,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 31080, Protocol: corev1.ProtocolTCP}}},
	}
}

func endpointSlice(namespace, name, port string, number int32, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: name},
		},
		Endpoints: endpoints, Ports: []discoveryv1.EndpointPort{{Name: &port, Port: &number}},
	}
}

func TestTranslate(t *testing.T) {
	web := service("default", "web", "10.96.0.9", "fd00::9")
	web.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	web.Spec.Ports = append(web.Spec.Ports, corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP})
	web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.20.0.2"}}
	external := service("default", "ext")
	external.Spec.Type = corev1.ServiceTypeExternalName
	got := translate([]*corev1.Service{web, external}, []*discoveryv1.EndpointSlice{
		endpointSlice("default", "web", "http", 8080,
			discoveryv1.Endpoint{Addresses: []string{"10.244.2.2"}, NodeName: new("b")},
			discoveryv1.Endpoint{Addresses: []string{"10.244.1.2"}, NodeName: new("a")},
			discoveryv1.Endpoint{Addresses: []string{"10.244.1.3"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}},
			discoveryv1.Endpoint{
				Addresses: []string{"10.244.2.9"}, NodeName: new("b"),
				Conditions: discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)},
			}),
		endpointSlice("other", "web", "http", 8080, discoveryv1.Endpoint{Addresses: []string{"10.244.9.9"}}),
		endpointSlice("default", "web", "metrics", 9090, discoveryv1.Endpoint{Addresses: []string{"10.244.1.2"}}),
	})
	want := []fabric.Service{{
		Namespace: "default", Name: "web", ClientIP: true,
		ClusterIPs: []netip.Addr{netip.MustParseAddr("10.96.0.9")}, Ingress: []netip.Addr{netip.MustParseAddr("127.20.0.2")},
		Ports: []fabric.ServicePort{{Name: "http", Port: 80, NodePort: 31080, Endpoints: []fabric.Endpoint{
			{Addr: netip.MustParseAddrPort("10.244.1.2:8080"), Node: "a"}, {Addr: netip.MustParseAddrPort("10.244.2.2:8080"), Node: "b"},
			{Addr: netip.MustParseAddrPort("10.244.2.9:8080"), Node: "b", Terminating: true},
		}}},
	}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestResolve(t *testing.T) {
	headless, alias := service("db", "pg", "None"), service("default", "alias", "")
	alias.Spec.Type, alias.Spec.ExternalName = corev1.ServiceTypeExternalName, "Example.com"
	w := &serviceWatch{names: names([]*corev1.Service{service("default", "web", "10.96.0.9"), headless, alias},
		[]*discoveryv1.EndpointSlice{endpointSlice("db", "pg", "http", 5432, discoveryv1.Endpoint{Addresses: []string{"10.244.1.7"}})})}
	c := &Cluster{watch: w, dns: 1}
	for _, tt := range []struct{ namespace, name, want string }{
		{"default", "web", "10.96.0.9"}, {"other", "web", ""}, {"other", "web.default", "10.96.0.9"},
		{"other", "web.default.svc", "10.96.0.9"}, {"other", "WEB.default.svc.cluster.local.", "10.96.0.9"},
		{"db", "pg", "10.244.1.7"}, {"default", "example.com", ""}, {"default", "alias", ""},
	} {
		ip, ok := c.Resolve(tt.namespace, tt.name)
		if ok != (tt.want != "") || ok && ip.String() != tt.want {
			t.Errorf("Resolve(%s, %s) = %s, %t; want %q", tt.namespace, tt.name, ip, ok, tt.want)
		}
	}
	if a, ok := w.resolve("alias.default.svc.cluster.local"); !ok || a.Alias != "example.com" {
		t.Errorf("an ExternalName is %v", a)
	}
	c.dns = 0
	if _, ok := c.Resolve("default", "web"); ok {
		t.Error("a name was resolved without CoreDNS")
	}
}

func TestProviderID(t *testing.T) {
	got := ProviderID("/subscriptions/S/resourceGroups/My-RG/providers/Microsoft.Compute/virtualMachines/Vm")
	if want := "azure:///subscriptions/S/resourceGroups/my-rg/providers/Microsoft.Compute/virtualMachines/Vm"; got != want {
		t.Errorf("ProviderID = %s, want %s", got, want)
	}
	if got := ZoneLabel("WestEurope", "2") + " " + ZoneLabel("westeurope", ""); got != "westeurope-2 0" {
		t.Errorf("ZoneLabel = %s", got)
	}
}

func TestReadAzureConfig(t *testing.T) {
	c, err := ReadAzureConfig([]byte(`{"subscriptionId":"s","resourceGroup":"g","vnetResourceGroup":"n","aadClientSecret":"hush"}`))
	if err != nil || c.VNetResourceGroup != "n" || c.SecurityGroupGroup != "g" {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, bad := range []string{"", "[]", `{"resourceGroup":"g"}`, `{"aadClientSecret":"hush",`} {
		if _, err := ReadAzureConfig([]byte(bad)); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// guest returns a node's file system.
func guest(t *testing.T) (dir string, files *guestfs.Root) {
	files, dir = guesttree.New(t)
	return dir, files
}

func TestCalicoInstaller(t *testing.T) {
	for _, os_ := range []string{"linux", "windows"} {
		t.Run(os_, func(t *testing.T) {
			dir, files := guest(t)
			touched := 0
			container := corev1.Container{Name: "install-cni"}
			env := Env{
				Pod: &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{container}}}, Container: &container,
				NodeName: "n", OS: os_, Files: files, Touched: func() { touched++ },
				Vars: map[string]string{"K8S_SERVICE_CIDR": "10.96.0.0/12", "DNS_NAME_SERVERS": "10.96.0.10", "DNS_SEARCH": "svc.cluster.local"},
			}
			if networkReady(env) {
				t.Fatal("the network is ready before anything ran")
			}
			for range 2 {
				if err := new(Cluster).calicoInstall(t.Context(), env); err != nil {
					t.Fatal(err)
				}
			}
			data, err := os.ReadFile(filepath.Join(dir, "etc/cni/net.d/10-calico.conflist"))
			if err != nil || !strings.Contains(string(data), `"type": "calico"`) {
				t.Errorf("configuration %s, %v", data, err)
			}
			if overlay := strings.Contains(string(data), `"vxlan_vni": 4096`); overlay != (os_ == "windows") {
				t.Errorf("VNI in the configuration: %t", overlay)
			}
			for _, part := range []string{"ExceptionList", "SDNROUTE", `"10.96.0.10"`} {
				if has := strings.Contains(string(data), part); has != (os_ == "windows") {
					t.Errorf("%s in the configuration: %t", part, has)
				}
			}
			if !networkReady(env) || touched != 2 {
				t.Errorf("ready %t, %d changes reported, want 2", networkReady(env), touched)
			}
		})
	}
}

func endpointSliceEndpoint(ip, node string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{ip}, NodeName: &node}
}

// named returns the Service with a name and without addresses and node ports, which the API server
// sets.
func named(s *corev1.Service, name string) *corev1.Service {
	s.Name, s.Spec.ClusterIPs, s.Spec.Ports[0].NodePort = name, nil, 0
	return s
}

// TestRefused: a container on which users rely to refuse requests is not simulated.
func TestRefused(t *testing.T) {
	webhook := &corev1.Container{Image: "registry.example/any:v1", Args: []string{"--lint-only", "--logging-format=json"}}
	if err := Refused(webhook); err == nil || !strings.Contains(err.Error(), "casement lint") {
		t.Errorf("the lint webhook: %v", err)
	}
	if err := Refused(&corev1.Container{Image: "registry.example/any:v1", Args: []string{"--lint"}}); err != nil {
		t.Errorf("another program: %v", err)
	}
}
