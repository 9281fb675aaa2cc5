package namespaced

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/testing/emulator"
	"casement.dev/casement/internal/testing/kubetest"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	tenant       = "00000000-0000-0000-0000-0000000000ff"
	// inside is the namespace of the overlay's example; outside is another namespace.
	inside, outside = "team-a", "team-b"
	patience        = 10 * time.Minute // long enough for a busy machine
)

var plane *kubeproc.Plane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) error {
		plane = p
		return installKinds(context.Background(), p.Config())
	}))
}

// answers records the requests of a client that the API server refused.
type answers struct {
	mu      sync.Mutex
	refused []string
}

func (a *answers) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusForbidden {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.refused = append(a.refused, r.Method+" "+r.URL.Path)
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// installOverlay renders the overlay with kubectl kustomize and creates its RBAC objects. It
// returns the manager's arguments.
func installOverlay(t *testing.T, c client.Client) []string {
	t.Helper()
	files, err := config.NamespacedOverlay("example.com/casement-manager:v0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := kubeproc.Find()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "kustomize", dir)
	cmd.Args[0] = "kubectl"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v: %s", err, &stderr)
	}
	var args []string
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		switch o.GetKind() {
		case "Namespace", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
		case "Deployment":
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			args, _, _ = unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		}
	}
	return args
}

// TestOverlay creates and deletes a cluster in the namespace of the overlay.
func TestOverlay(t *testing.T) {
	ctx := t.Context()
	scheme, err := manager.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(plane.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{inside, outside} {
		must(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	args := installOverlay(t, admin)
	if !strings.Contains(strings.Join(args, " "), "--namespace="+inside) {
		t.Fatalf("arguments %v", args)
	}
	azure := emulator.Serve(t, azuresim.Config{Subscriptions: []string{subscription}, TenantID: tenant})
	o := manager.Defaults()
	o.MetricsAddress, o.HealthAddress, o.WebhookPort = "0", "0", 0
	o.LeaderElection, o.LeaderElectionNamespace, o.Namespaces = true, "casement-system", []string{inside}
	o.Azure = manager.Azure{Endpoints: manager.Endpoints{
		AuthorityHost: azure.Cloud.AuthorityHost, ResourceManagerEndpoint: azure.Cloud.ResourceManagerEndpoint,
	}, CAFile: azure.Cloud.CAFile}
	limited, err := plane.ConfigFor(config.User)
	must(err)
	var got answers
	limited.Wrap(got.wrap)
	mgr, err := manager.New(limited, o)
	must(err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		got.mu.Lock()
		defer got.mu.Unlock()
		if len(got.refused) > 0 {
			t.Errorf("the API server refused the manager %v", got.refused)
		}
	}()
	live(t, admin, inside, "", azure.Azure.Client().ID, azure.Azure.Client().Secret)
	elsewhere(t, limited)
}

// elsewhere checks that the manager's permissions are limited to the namespace.
func elsewhere(t *testing.T, limited *rest.Config) {
	t.Helper()
	alone := rest.CopyConfig(limited)
	alone.WrapTransport = nil
	c, err := client.New(alone, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{outside, "kube-system", "default"} {
		err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "any"}, &corev1.Secret{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("the manager may read secrets of namespace %s: %v", namespace, err)
		}
	}
	if err := c.List(t.Context(), &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Errorf("the manager may list all secrets: %v", err)
	}
}

func installKinds(ctx context.Context, cfg *rest.Config) error {
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	providers, err := capi.Manifests("127.0.0.1", capi.Ports{}, nil, false)
	if err != nil {
		return err
	}
	for _, p := range providers {
		for _, crd := range p.CRDs {
			if crd.Spec.Group == clusterv1.GroupVersion.Group {
				crd.Spec.Conversion = nil // the conversion webhooks do not run here
				crds = append(crds, crd)
			}
		}
	}
	return kubeproc.InstallCRDs(ctx, cfg, crds)
}

// live creates and deletes a cluster with a machine in a namespace, with the credentials of an
// application of the local Azure. filter is the watch-filter label of its objects, or "".
func live(t *testing.T, c client.Client, namespace, filter, clientID, clientSecret string) {
	t.Helper()
	create := func(o client.Object) {
		t.Helper()
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	named := func(name string) metav1.ObjectMeta {
		labels := map[string]string{clusterv1.ClusterNameLabel: "demo"}
		if filter != "" {
			labels[clusterv1.WatchLabel] = filter
		}
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
	}
	ownedBy := func(name, kind string, owner client.Object) metav1.ObjectMeta {
		meta := named(name)
		meta.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID()},
		}
		return meta
	}
	ref := func(kind, name string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
	}
	create(&corev1.Secret{ObjectMeta: named("sp"), Data: map[string][]byte{"clientSecret": []byte(clientSecret)}})
	create(&corev1.Secret{ObjectMeta: named("data"), Data: map[string][]byte{"value": []byte("#cloud-config\n")}})
	create(&infrav1.AzureClusterIdentity{ObjectMeta: named("identity"), Spec: infrav1.AzureClusterIdentitySpec{
		Type: infrav1.ServicePrincipal, ClientID: clientID, TenantID: tenant,
		ClientSecret: corev1.SecretReference{Name: "sp"}, AllowedNamespaces: &infrav1.AllowedNamespaces{},
	}})
	cluster := &clusterv1.Cluster{ObjectMeta: named("demo"), Spec: clusterv1.ClusterSpec{InfrastructureRef: ref("AzureCluster", "demo")}}
	create(cluster)
	azureCluster := &infrav1.AzureCluster{ObjectMeta: ownedBy("demo", "Cluster", cluster)}
	spec := &azureCluster.Spec
	spec.Location, spec.SubscriptionID, spec.ResourceGroup = "westeurope", subscription, "demo"
	spec.IdentityRef = &corev1.ObjectReference{Kind: "AzureClusterIdentity", Name: "identity"}
	spec.NetworkSpec.Vnet.Name, spec.NetworkSpec.Vnet.CIDRBlocks = "demo-vnet", []string{"10.0.0.0/8"}
	spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{{SubnetClassSpec: infrav1.SubnetClassSpec{
		Name: "node", Role: infrav1.SubnetCluster, CIDRBlocks: []string{"10.1.0.0/16"},
	}}}
	spec.NetworkSpec.Subnets[0].SecurityGroup.Name = "nsg"
	spec.ControlPlaneEndpoint.Host, spec.ControlPlaneEndpoint.Port = "api.example.com", 6443
	create(azureCluster)
	until(t, c, azureCluster, func() bool { return conditions.IsTrue(azureCluster, infrav1.NetworkInfrastructureReadyCondition) })
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := c.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	machine := &clusterv1.Machine{ObjectMeta: named("m"), Spec: clusterv1.MachineSpec{
		ClusterName: "demo", Version: "v1.36.3", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("data")},
		InfrastructureRef: ref("AzureMachine", "m"),
	}}
	create(machine)
	azureMachine := &infrav1.AzureMachine{ObjectMeta: ownedBy("m", "Machine", machine)}
	azureMachine.Spec.VMSize, azureMachine.Spec.OSDisk = "Standard_D2s_v3",
		infrav1.OSDisk{OSType: "Linux", DiskSizeGB: new(int32(128)), CachingType: "None"}
	create(azureMachine)
	until(t, c, azureMachine, func() bool { return azureMachine.Status.Ready })
	for _, o := range []client.Object{azureMachine, azureCluster} {
		if err := c.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		until(t, c, o, nil)
	}
}

// until reads an object until f returns true, or, if f is nil, until the object does not exist.
func until(t *testing.T, c client.Client, o client.Object, f func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
		if f == nil {
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
		return err == nil && f(), err
	})
	if err != nil {
		text, _ := yaml.Marshal(o)
		t.Fatalf("%T %s: %v\n%s", o, o.GetName(), err, text)
	}
}
