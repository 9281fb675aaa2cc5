package helm

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/helm/crds"
	"casement.dev/casement/internal/helm/v1alpha1"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
)

var apiServer *rest.Config

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == StepName {
		os.Exit(Step(io.TeeReader(os.Stdin, tries()), os.Stdout, os.Stderr))
	}
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) error {
		apiServer = p.Config()
		ca, _ := p.CA()
		providers, err := capi.Manifests("127.0.0.1", capi.Ports{Core: 1, Bootstrap: 1, ControlPlane: 1}, ca, false)
		if err != nil {
			return err
		}
		definitions, err := crds.All()
		if err != nil {
			return err
		}
		for _, provider := range providers {
			definitions = append(definitions, provider.CRDs...)
		}
		return kubeproc.InstallCRDs(context.Background(), apiServer, definitions)
	}))
}

// tries returns a writer that records the input of a step.
func tries() io.Writer {
	if file := os.Getenv(triesEnv); file != "" {
		if f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			return f
		}
	}
	return io.Discard
}

// scene is a running manager whose management cluster is also the workload cluster.
type scene struct {
	*testing.T
	client.Client
}

func begin(t *testing.T, charts string) scene {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(apiServer, client.Options{Scheme: scheme, FieldValidation: "Strict"})
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := New(apiServer, Options{Charts: charts, Cache: t.TempDir(), OwnRepositories: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return scene{t, c}
}

func (s scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// until waits until observe returns true; on failure the test prints the last text of observe.
func (s scene) until(what string, observe func() (bool, string)) {
	s.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		done, saw := observe()
		last = saw
		return done, nil
	})
	if err != nil {
		s.Fatalf("%s: %v: %s", what, err, last)
	}
}

// cluster creates a Cluster whose kubeconfig is for the test's API server.
func (s scene) cluster(name string, labels map[string]string) *clusterv1.Cluster {
	s.Helper()
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}}
	c.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"192.168.0.0/16"}
	c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "demo.example.com", Port: 6443}
	s.must(s.Create(s.Context(), c))
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: apiServer.Host, CertificateAuthorityData: apiServer.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: apiServer.CertData, ClientKeyData: apiServer.KeyData, Token: apiServer.BearerToken,
	}
	config.Contexts["x"], config.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "x"
	data, err := clientcmd.Write(*config)
	s.must(err)
	s.must(s.Create(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: name + "-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: name}},
		Type: clusterv1.ClusterSecretType, Data: map[string][]byte{"value": data}}))
	return c
}

func (s scene) initialize(c *clusterv1.Cluster) {
	s.Helper()
	before := c.DeepCopy()
	c.Status.Initialization.ControlPlaneInitialized = new(true)
	s.must(s.Status().Patch(s.Context(), c, client.MergeFrom(before)))
}

// release returns the release of a HelmChartProxy, once it has one.
func (s scene) release(proxy string) *v1alpha1.HelmReleaseProxy {
	var all v1alpha1.HelmReleaseProxyList
	s.must(s.List(s.Context(), &all, client.MatchingLabels{v1alpha1.ChartProxyLabel: proxy}))
	if len(all.Items) != 1 {
		return nil
	}
	return &all.Items[0]
}

// ready waits until the release of a HelmChartProxy is installed in a revision.
func (s scene) ready(proxy string, revision int) (r *v1alpha1.HelmReleaseProxy) {
	s.Helper()
	s.until(proxy, func() (bool, string) {
		if r = s.release(proxy); r == nil {
			return false, "no release"
		}
		c := meta.FindStatusCondition(r.Status.Conditions, clusterv1.ReadyCondition)
		return c != nil && c.Status == metav1.ConditionTrue && r.Status.Revision == revision,
			strings.Join(messages(r.Status.Conditions), "; ")
	})
	return r
}

func messages(conditions []metav1.Condition) (out []string) {
	for _, c := range conditions {
		out = append(out, c.Type+" "+string(c.Status)+" "+c.Reason+" "+c.Message)
	}
	return out
}

func (s scene) has(o client.Object, namespace, name string) bool {
	s.Helper()
	err := s.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		s.Fatal(err)
	}
	return err == nil
}

func proxy(name, chart string, selector map[string]string, values string) *v1alpha1.HelmChartProxy {
	p := &v1alpha1.HelmChartProxy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.ClusterSelector.MatchLabels = selector
	p.Spec.ChartName, p.Spec.RepoURL, p.Spec.ReleaseName, p.Spec.ValuesTemplate = chart, "https://charts.invalid", name, values
	return p
}

// calicoValues request Windows like CAPZ's templates.
const calicoValues = `installation:
  cni: {type: Calico}
  registry: capzcicommunity.azurecr.io
  serviceCIDRs: [10.96.0.0/12]
  calicoNetwork:
    windowsDataplane: HNS
    ipPools:{{range .Cluster.spec.clusterNetwork.pods.cidrBlocks }}
    - cidr: {{ . }}{{end}}
kubernetesServiceEndpoint:
  host: "{{ .Cluster.spec.controlPlaneEndpoint.host }}"
  port: "{{ .Cluster.spec.controlPlaneEndpoint.port }}"
`

// TestLife takes releases through their life: selected, waiting for the control plane,
// installed, changed, no longer selected, deleted.
func TestLife(t *testing.T) {
	charts := t.TempDir()
	for file, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: hello\nversion: 1.0.0\n",
		"templates/greeting.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n" +
			"data:\n  greeting: {{ .Values.greeting | quote }}\n",
	} {
		path := filepath.Join(charts, "hello", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := begin(t, charts)
	c := s.cluster("demo", map[string]string{"cni": "calico"})
	hello := proxy("hello", "hello", map[string]string{"cni": "calico"}, `greeting: {{ .Cluster.metadata.name | upper }}`)
	for _, p := range []*v1alpha1.HelmChartProxy{
		hello, proxy("calico", "tigera-operator", map[string]string{"cni": "calico"}, calicoValues),
		proxy("cloud", "cloud-provider-azure", map[string]string{"cni": "calico"}, "infra:\n  clusterName: {{ .Cluster.metadata.name }}\n"),
		proxy("other", "hello", map[string]string{"cni": "none"}, ""),
	} {
		s.must(s.Create(t.Context(), p))
	}
	s.until("waits for the control plane", func() (bool, string) {
		r := s.release("hello")
		if r == nil {
			return false, "no release"
		}
		available := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ClusterAvailableCondition)
		return available != nil && available.Reason == v1alpha1.ControlPlaneNotInitializedReason,
			strings.Join(messages(r.Status.Conditions), "; ")
	})
	s.initialize(c)
	s.ready("hello", 1)
	s.ready("cloud", 1)
	if r := s.ready("calico", 1); !strings.Contains(strings.Join(messages(r.Status.Conditions), "; "), simulated) {
		t.Errorf("the conditions do not say that calico is simulated: %q", messages(r.Status.Conditions))
	}
	greeting := &corev1.ConfigMap{}
	if !s.has(greeting, "default", "hello") || greeting.Data["greeting"] != "DEMO" {
		t.Errorf("got greeting %v", greeting.Data)
	}
	windows := &appsv1.DaemonSet{}
	if !s.has(windows, "kube-system", "calico-node-windows") ||
		!strings.HasPrefix(windows.Spec.Template.Spec.Containers[0].Image, "capzcicommunity.azurecr.io/calico/") {
		t.Errorf("calico for Windows is not as its values ask: %v", windows.Spec.Template.Spec.Containers)
	}
	if s.has(&appsv1.DaemonSet{}, "kube-system", "kube-proxy-windows") || !s.has(&corev1.Namespace{}, "", "calico-system") ||
		!s.has(&corev1.ServiceAccount{}, "calico-system", "calico-node") {
		t.Error("calico's operator makes the namespace calico-system with its accounts, and no kube-proxy")
	}
	manager := &appsv1.Deployment{}
	if !s.has(manager, "kube-system", "cloud-controller-manager") ||
		!strings.Contains(strings.Join(manager.Spec.Template.Spec.Containers[0].Args, " "), "--cluster-name=demo") {
		t.Errorf("got arguments %v", manager.Spec.Template.Spec.Containers)
	}
	if s.release("other") != nil {
		t.Error("a HelmChartProxy that does not select the cluster has a release")
	}

	s.must(s.Get(t.Context(), client.ObjectKeyFromObject(hello), hello))
	hello.Spec.ValuesTemplate = "greeting: bye"
	s.must(s.Update(t.Context(), hello))
	s.ready("hello", 2)
	if !s.has(greeting, "default", "hello") || greeting.Data["greeting"] != "bye" {
		t.Errorf("got greeting %v after the change", greeting.Data)
	}

	s.must(s.Get(t.Context(), client.ObjectKeyFromObject(c), c))
	before := c.DeepCopy()
	c.Labels["cni"] = "cilium"
	s.must(s.Patch(t.Context(), c, client.MergeFrom(before)))
	s.until("no longer selected", func() (bool, string) {
		return s.release("calico") == nil && !s.has(&appsv1.DaemonSet{}, "kube-system", "calico-node"), "there still"
	})
	for _, name := range []string{"hello", "calico", "cloud", "other"} {
		p := proxy(name, "", nil, "")
		s.must(s.Delete(t.Context(), p))
		s.until(name+" is gone", func() (bool, string) { return !s.has(p, "default", name), "there still" })
	}
}
