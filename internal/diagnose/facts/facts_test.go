package facts

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
)

// server is one API server that is both the management cluster and the workload cluster. calls counts the requests to
// it.
var (
	server *rest.Config
	calls  atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kubeproc.Plane) error {
		server = plane.Config()
		crds, err := config.CRDs()
		if err != nil {
			return err
		}
		providers, err := capi.Manifests("127.0.0.1", capi.Ports{}, nil, false)
		if err != nil {
			return err
		}
		for _, p := range providers {
			crds = append(crds, p.CRDs...)
		}
		return kubetest.InstallCRDs(context.Background(), server, crds)
	}))
}

type counted struct{ http.RoundTripper }

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	calls.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// reader returns a client whose requests are counted.
func reader(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(server)
	cfg.QPS = -1
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return counted{rt} })
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// create creates objects with their statuses.
func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		status, _ := o.DeepCopyObject().(client.Object)
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
		if m, ok := status.(*clusterv1.Machine); ok && m.Status.NodeRef.Name != "" {
			m.ResourceVersion = o.GetResourceVersion()
			if err := c.Status().Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(c.Delete(context.Background(), o)); err != nil {
				t.Error(err)
			}
		})
	}
}

func objectMeta(namespace, name, cluster string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}
}

func ref(group, kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
}

func newCluster(namespace, name string) *clusterv1.Cluster {
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec.InfrastructureRef = ref(infrav1.GroupVersion.Group, "AzureCluster", name)
	return c
}

// machine returns a Machine of a cluster, with its AzureMachine and its node's name.
func machine(namespace, cluster, name, node string) []client.Object {
	m := &clusterv1.Machine{ObjectMeta: objectMeta(namespace, name, cluster)}
	m.Spec.ClusterName = cluster
	m.Spec.Bootstrap.ConfigRef = ref(bootstrapv1.GroupVersion.Group, "KubeadmConfig", name+"-config")
	m.Spec.InfrastructureRef = ref(infrav1.GroupVersion.Group, "AzureMachine", name+"-vm")
	m.Status.NodeRef.Name = node
	if strings.HasPrefix(name, "cp") {
		m.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	vm := &infrav1.AzureMachine{ObjectMeta: objectMeta(namespace, name+"-vm", cluster)}
	vm.Spec.VMSize, vm.Spec.OSDisk.OSType = "Standard_D2s_v3", "Windows"
	return []client.Object{m, vm, &bootstrapv1.KubeadmConfig{ObjectMeta: objectMeta(namespace, name+"-config", cluster)}}
}

// kubeconfigOf returns the kubeconfig secret of a cluster with a server as the workload cluster.
func kubeconfigOf(t *testing.T, namespace, cluster string, cfg *rest.Config) *corev1.Secret {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Token: cfg.BearerToken}
	k.Contexts["x"], k.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "x"
	data, err := clientcmd.Write(*k)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-kubeconfig"},
		Data: map[string][]byte{"value": data}}
}

func namespace(t *testing.T, c client.Client, name string) string {
	t.Helper()
	create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name
}

func TestFind(t *testing.T) {
	c := reader(t)
	ns, elsewhere := namespace(t, c, "find"), namespace(t, c, "find-elsewhere")
	pool := &clusterv1.MachinePool{ObjectMeta: objectMeta(ns, "mp", "demo")}
	pool.Spec.ClusterName, pool.Spec.Template.Spec.ClusterName = "demo", "demo"
	pool.Spec.Template.Spec.Bootstrap.DataSecretName = new("x")
	pool.Spec.Template.Spec.InfrastructureRef = ref(infrav1.GroupVersion.Group, "AzureMachinePool", "mp-scale-set")
	workers := &clusterv1.MachineDeployment{ObjectMeta: objectMeta(ns, "workers", "demo")}
	workers.Spec.ClusterName, workers.Spec.Template.Spec.ClusterName = "demo", "demo"
	workers.Spec.Selector.MatchLabels = map[string]string{"set": "workers"}
	workers.Spec.Template.Labels = workers.Spec.Selector.MatchLabels
	workers.Spec.Template.Spec.Bootstrap.DataSecretName = new("x")
	workers.Spec.Template.Spec.InfrastructureRef = ref(infrav1.GroupVersion.Group, "AzureMachineTemplate", "workers")
	create(t, c, slices.Concat([]client.Object{newCluster(ns, "demo"), newCluster(elsewhere, "other"), pool, workers},
		machine(ns, "demo", "md-0", "win-1"))...)
	demo := client.ObjectKey{Namespace: ns, Name: "demo"}
	for what, want := range map[string]Object{
		"demo":                       {Cluster: demo, Kind: "Cluster", Name: "demo"},
		"clusters/demo":              {Cluster: demo, Kind: "Cluster", Name: "demo"},
		"md-0":                       {Cluster: demo, Kind: "Machine", Name: "md-0"},
		"Machine/md-0":               {Cluster: demo, Kind: "Machine", Name: "md-0"},
		"node/win-1":                 {Cluster: demo, Kind: "Machine", Name: "md-0"},
		"azuremachine/md-0-vm":       {Cluster: demo, Kind: "Machine", Name: "md-0"},
		"mp":                         {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"mp/mp":                      {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"machinepools/mp":            {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"mp-scale-set":               {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"pod/iis":                    {Cluster: demo, Kind: "Pod", Name: "iis", Namespace: "default"},
		"pods/shop/iis":              {Cluster: demo, Kind: "Pod", Name: "iis", Namespace: "shop"},
		"AzureMachinePool/mp":        {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"azuremachines/md-0-vm":      {Cluster: demo, Kind: "Machine", Name: "md-0"},
		"no/win-1":                   {Cluster: demo, Kind: "Machine", Name: "md-0"},
		"azuremachinepool/mp":        {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"Cluster/demo":               {Cluster: demo, Kind: "Cluster", Name: "demo"},
		"machinepool/mp":             {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"machines/md-0":              {Cluster: demo, Kind: "Machine", Name: "md-0"},
		"azuremachine/md-0":          {Cluster: demo, Kind: "Machine", Name: "md-0"},
		"azuremachinepools/mp":       {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"po/iis":                     {Cluster: demo, Kind: "Pod", Name: "iis", Namespace: "default"},
		"MACHINEPOOL/mp":             {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"machinepool/mp-scale-set":   {Cluster: demo, Kind: "MachinePool", Name: "mp"},
		"md/workers":                 {Cluster: demo, Kind: "MachineDeployment", Name: "workers"},
		"machinedeployments/workers": {Cluster: demo, Kind: "MachineDeployment", Name: "workers"},
		"deployment/iis":             {Cluster: demo, Kind: "Deployment", Name: "iis", Namespace: "default"},
		"svc/shop/iis":               {Cluster: demo, Kind: "Service", Name: "iis", Namespace: "shop"},
		"ds/kube-system/proxy":       {Cluster: demo, Kind: "DaemonSet", Name: "proxy", Namespace: "kube-system"},
		"shop/iis":                   {Cluster: demo, Kind: "Pod", Name: "iis", Namespace: "shop"},
	} {
		if got, err := Find(t.Context(), c, ns, "", what); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
	for what, says := range map[string]string{
		"nothing":         `no cluster, machine, machine pool or node is called "nothing" in namespace find`,
		"cluster/nothing": "there is no cluster find/nothing",
		"other":           "cluster other is in namespace find-elsewhere: -n find-elsewhere",
		"cluster/other":   "-n find-elsewhere",
		"foo/bar/baz":     "foo is none of cluster, machine, machinedeployment (md)",
		"md/nothing":      `no MachineDeployment is called "nothing" in namespace find`,
		"kcp/nothing":     `no KubeadmControlPlane is called "nothing"`,
		"mp/nothing":      `no machine pool is called "nothing"`,
	} {
		if _, err := Find(t.Context(), c, ns, "", what); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	create(t, c, newCluster(ns, "second"))
	if _, err := Find(t.Context(), c, ns, "", "pod/iis"); err == nil || !strings.Contains(err.Error(),
		"there are 2 clusters in namespace find (demo, second); say which one: casement why pod/iis --cluster demo") {
		t.Errorf("a pod of one of two clusters: got %v", err)
	}
	if got, err := Find(t.Context(), c, ns, "second", "pod/iis"); err != nil || got.Cluster.Name != "second" {
		t.Errorf("a pod of the second cluster: got %+v, %v", got, err)
	}
	want := Object{Cluster: client.ObjectKey{Namespace: elsewhere, Name: "other"}, Kind: "Pod", Name: "iis", Namespace: "find-shop"}
	if got, err := Find(t.Context(), c, "find-shop", "other", "pod/iis"); err != nil || got != want {
		t.Errorf("a pod by the namespace that it has in the workload cluster: got %+v, %v", got, err)
	}
}

func TestMissingClusterIsNotFound(t *testing.T) {
	_, err := Cluster(t.Context(), reader(t), client.ObjectKey{Namespace: "default", Name: "nothing"})
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "casement get clusters") {
		t.Errorf("got %v", err)
	}
}

func names[T any, P interface {
	*T
	client.Object
}](items []T) (out []string) {
	for i := range items {
		out = append(out, P(&items[i]).GetName())
	}
	slices.Sort(out)
	return out
}

func keys[V any](m map[string]V) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// podOn returns a pod that runs on a node.
func podOn(namespace, name, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.Spec.NodeName, p.Spec.Containers = node, []corev1.Container{{Name: "c", Image: "x"}}
	p.Spec.ServiceAccountName, p.Spec.AutomountServiceAccountToken = "pods", new(false)
	return p
}

// within returns the events of a namespace; the API server writes its own warnings in other
// namespaces.
func within(all []corev1.Event, namespace string) []corev1.Event {
	return slices.DeleteFunc(slices.Clone(all), func(e corev1.Event) bool { return e.Namespace != namespace })
}

func TestSnapshot(t *testing.T) {
	c := reader(t)
	ns := namespace(t, c, "snapshot")
	create(t, c, slices.Concat(
		[]client.Object{newCluster(ns, "demo"), newCluster(ns, "other"), kubeconfigOf(t, ns, "demo", server),
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pods"}}},
		machine(ns, "demo", "cp-0", "linux-0"), machine(ns, "demo", "md-0", "win-0"),
		machine(ns, "demo", "md-1", "win-1"), machine(ns, "other", "x-0", ""))...)
	for _, node := range []string{"linux-0", "win-0", "win-1"} {
		create(t, c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	}
	create(t, c, podOn(ns, "p-0", "win-0"), podOn(ns, "p-1", "win-1"), podOn(ns, "kube-proxy", "linux-0"))
	for name, kind := range map[string]string{"warned": corev1.EventTypeWarning, "normal": corev1.EventTypeNormal} {
		create(t, c, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Type: kind,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "p-0"}})
	}
	demo := client.ObjectKey{Namespace: ns, Name: "demo"}

	whole, err := Of(t.Context(), c, Object{Cluster: demo, Kind: "Cluster", Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	if whole.Unreachable != "" {
		t.Fatalf("the workload cluster is not reached: %s", whole.Unreachable)
	}
	one, err := Of(t.Context(), c, Object{Cluster: demo, Kind: "Machine", Name: "md-1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]struct{ got, want []string }{
		"machines":                {names(whole.Machines), []string{"cp-0", "md-0", "md-1"}},
		"AzureMachines":           {keys(whole.AzureMachines), []string{"cp-0-vm", "md-0-vm", "md-1-vm"}},
		"configs without data":    {keys(whole.Configs), []string{"cp-0-config", "md-0-config", "md-1-config"}},
		"nodes":                   {keys(whole.Nodes), []string{"linux-0", "win-0", "win-1"}},
		"warnings":                {names(within(whole.Warnings, ns)), []string{"warned"}},
		"machines of a machine":   {names(one.Machines), []string{"cp-0", "md-1"}},
		"VMs of a machine":        {keys(one.AzureMachines), []string{"cp-0-vm", "md-1-vm"}},
		"nodes of a machine":      {keys(one.Nodes), []string{"linux-0", "win-1"}},
		"pods of its nodes":       {names(one.Pods), []string{"kube-proxy", "p-1"}},
		"warnings of one machine": {names(within(one.Warnings, ns)), []string{"warned"}},
	} {
		if !slices.Equal(got.got, got.want) {
			t.Errorf("%s: got %v, want %v", name, got.got, got.want)
		}
	}
	if pods := names(whole.Pods); !slices.Contains(pods, "p-0") || !slices.Contains(pods, "p-1") {
		t.Errorf("pods: got %v", pods)
	}
}

// TestUnreachableWorkload: the snapshot records that the workload cluster does not respond, or cannot be queried.
func TestUnreachableWorkload(t *testing.T) {
	c := reader(t)
	ns := namespace(t, c, "unreachable")
	nowhere := rest.CopyConfig(server)
	nowhere.Host = "https://127.0.0.1:1"
	broken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "broken-kubeconfig"},
		Data: map[string][]byte{"value": []byte("users: [{user: {token: s3cret")}}
	create(t, c, newCluster(ns, "none"), newCluster(ns, "dead"), newCluster(ns, "broken"), kubeconfigOf(t, ns, "dead", nowhere), broken)
	for name, says := range map[string]string{
		"none": "has no kubeconfig yet", "dead": "127.0.0.1:1", "broken": "holds no valid kubeconfig",
	} {
		s, err := Cluster(t.Context(), c, client.ObjectKey{Namespace: ns, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.Unreachable, says) || strings.Contains(s.Unreachable, "s3cret") {
			t.Errorf("%s: got %q", name, s.Unreachable)
		}
	}
}

// TestCallsDoNotGrow: a cluster takes as many calls with 30 machines as with 3.
func TestCallsDoNotGrow(t *testing.T) {
	c := reader(t)
	ns := namespace(t, c, "calls")
	var cost []int64
	for _, n := range []int{3, 30} {
		name := fmt.Sprintf("of-%d", n)
		create(t, c, newCluster(ns, name))
		for i := range n {
			objects := machine(ns, name, fmt.Sprintf("%s-%d", name, i), "")
			m, _ := objects[0].(*clusterv1.Machine)
			m.Spec.Bootstrap.DataSecretName, m.Labels[clusterv1.MachineSetNameLabel] = new("data"), name
			create(t, c, objects...)
		}
		before := calls.Load()
		s, err := Cluster(t.Context(), c, client.ObjectKey{Namespace: ns, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Machines) != n || len(s.Configs) != 1 {
			t.Errorf("%s: %d machines, %d configs", name, len(s.Machines), len(s.Configs))
		}
		cost = append(cost, calls.Load()-before)
	}
	if cost[0] != cost[1] {
		t.Errorf("3 machines cost %d calls, 30 cost %d", cost[0], cost[1])
	}
}

func TestConsoles(t *testing.T) {
	const id = "/subscriptions/s/resourceGroups/Demo/providers/Microsoft.Compute/virtualMachines/vm"
	made := &infrav1.AzureMachine{}
	made.Spec.ProviderID = new("azure://" + id)
	creating := &infrav1.AzureMachine{}
	creating.Status.LongRunningOperationStates = []infrav1.LongRunningOperationState{{ResourceGroup: "demo", Name: "VM"}}
	for name, test := range map[string]struct {
		vm         *infrav1.AzureMachine
		providerID string
		want       string
	}{
		"by the AzureMachine":         {made, "", id},
		"by the machine":              {nil, "azure://" + strings.ToUpper(id), id},
		"while Azure creates it":      {creating, "", id},
		"nothing is known of it":      {&infrav1.AzureMachine{}, "", ""},
		"a VM that is none of theirs": {nil, "azure://" + id + "-other", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Snapshot{AzureMachines: map[string]*infrav1.AzureMachine{"am": test.vm}}
			s.Consoles([]string{id}, func(id string) string { return id })
			m := &clusterv1.Machine{}
			m.Spec.InfrastructureRef.Name, m.Spec.ProviderID = "am", test.providerID
			if got := s.Console(m); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestOptions checks that clients have their own logger: with the global one, controller-runtime writes a stack trace
// to the output of a command that runs for half a minute.
func TestOptions(t *testing.T) {
	if Options(nil).Log.IsZero() {
		t.Error("the client has no logger")
	}
}
