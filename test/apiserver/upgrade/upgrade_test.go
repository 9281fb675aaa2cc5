package upgrade

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
	plan "casement.dev/casement/internal/upgrade"
	"casement.dev/casement/test/apiserver/kinds"
)

// server is the management cluster and the workload cluster in one.
var server *kubeproc.Plane

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kubeproc.Plane) error {
		server = plane
		return kinds.Install(plane.Config())
	}))
}

func connect(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(server.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// objects contains a cluster with Calico, three groups with Windows nodes and one with Linux nodes.
// NAME is replaced by its name, CNI by its network.
const objects = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, labels: {cni: CNI, windows: enabled}}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, name: NAME}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: NAME-win}
spec:
  template:
    metadata: {annotations: {windowsServerVersion: windows-2022, runtime: containerd}}
    spec: {vmSize: Standard_D4s_v3, osDisk: {osType: Windows, diskSizeGB: 128}, sshPublicKey: ""}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: NAME-own}
spec:
  template:
    spec:
      vmSize: Standard_D8s_v5
      osDisk: {osType: Windows, diskSizeGB: 128}
      image: {id: /subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/galleries/g/images/w/versions/1.0.0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: NAME-linux}
spec: {template: {spec: {vmSize: Standard_D2s_v3, osDisk: {osType: Linux, diskSizeGB: 128}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME-md-win, labels: {cluster.x-k8s.io/cluster-name: NAME}}
spec:
  clusterName: NAME
  replicas: 4
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 50%, maxUnavailable: 0}}}
  selector: {matchLabels: {d: win}}
  template:
    metadata: {labels: {d: win}}
    spec:
      clusterName: NAME
      version: v1.37.2
      bootstrap: {dataSecretName: x}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachineTemplate, name: NAME-win}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME-md-own, labels: {cluster.x-k8s.io/cluster-name: NAME}}
spec:
  clusterName: NAME
  replicas: 2
  selector: {matchLabels: {d: own}}
  template:
    metadata: {labels: {d: own}}
    spec:
      clusterName: NAME
      version: v1.37.2
      bootstrap: {dataSecretName: x}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachineTemplate, name: NAME-own}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME-md-linux, labels: {cluster.x-k8s.io/cluster-name: NAME}}
spec:
  clusterName: NAME
  replicas: 1
  selector: {matchLabels: {d: linux}}
  template:
    metadata: {labels: {d: linux}}
    spec:
      clusterName: NAME
      version: v1.37.2
      bootstrap: {dataSecretName: x}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachineTemplate, name: NAME-linux}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachinePool
metadata: {name: NAME-mp, labels: {cluster.x-k8s.io/cluster-name: NAME}, annotations: {windowsServerVersion: windows-2022}}
spec:
  location: westeurope
  template: {vmSize: Standard_D4s_v3, osDisk: {osType: Windows, diskSizeGB: 128}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: NAME-mp, labels: {cluster.x-k8s.io/cluster-name: NAME}}
spec:
  clusterName: NAME
  replicas: 1
  template:
    spec:
      clusterName: NAME
      version: v1.37.2
      bootstrap: {dataSecretName: x}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachinePool, name: NAME-mp}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: NAME-md-win-1, labels: {cluster.x-k8s.io/cluster-name: NAME, cluster.x-k8s.io/deployment-name: NAME-md-win}}
spec:
  clusterName: NAME
  version: v1.37.2
  bootstrap: {dataSecretName: x}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachine, name: NAME-md-win-1}
`

func create(t *testing.T, c client.Client, name, cni string) {
	t.Helper()
	for doc := range strings.SplitSeq(strings.NewReplacer("NAME", name, "CNI", cni).Replace(objects), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetNamespace("default")
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	machine := &clusterv1.Machine{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-md-win-1"}, machine); err != nil {
		t.Fatal(err)
	}
	machine.Status.NodeRef.Name = name + "-node"
	if err := c.Status().Update(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-kubeconfig"},
		Data: map[string][]byte{"value": server.Kubeconfig()}}); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name + "-node", Labels: map[string]string{
		"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348"}}}
	if err := c.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	node.Status.NodeInfo.OperatingSystem, node.Status.NodeInfo.KernelVersion = "windows", "10.0.20348.2582"
	if err := c.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

// pod creates a Windows pod, with an owner if one is named.
func pod(t *testing.T, c client.Client, name, owner, image string, edit func(*corev1.PodSpec)) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"kubernetes.io/os": "windows"}, ServiceAccountName: "default",
		AutomountServiceAccountToken: new(false), Containers: []corev1.Container{{Name: "app", Image: image}}}}
	if owner != "" {
		p.Labels = map[string]string{"pod-template-hash": "5c4"}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner + "-5c4", UID: replicaSet(t, c,
			owner+"-5c4"), Controller: new(true)}}
	}
	edit(&p.Spec)
	if err := c.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// replicaSet returns the UID of a ReplicaSet. It creates a missing ReplicaSet, because pods without
// their owner are garbage-collected.
func replicaSet(t *testing.T, c client.Client, name string) types.UID {
	t.Helper()
	labels := map[string]string{"app": name}
	r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "x"}}}}}}
	err := c.Create(t.Context(), r)
	if apierrors.IsAlreadyExists(err) {
		err = c.Get(t.Context(), client.ObjectKeyFromObject(r), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.UID
}

func run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, server.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	return runCommand(t, "plan", file, args...)
}

// runCommand runs a `casement upgrade` command and returns its output and exit code.
func runCommand(t *testing.T, command, file string, args ...string) (string, int) {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Main(append([]string{"casement", "upgrade", command, "--kubeconfig", file, "--namespace", "default", "--state",
		t.TempDir()}, args...),
		app.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if code != app.ExitDone && code != app.ExitFailed {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	return out.String(), code
}

// versions returns the resource versions of all objects that a plan could change.
func versions(t *testing.T, c client.Client) string {
	t.Helper()
	var out strings.Builder
	for _, list := range []client.ObjectList{&clusterv1.ClusterList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.MachinePoolList{},
		&clusterv1.MachineList{}, &infrav1.AzureMachineTemplateList{}, &infrav1.AzureMachinePoolList{}, &corev1.PodList{}} {
		if err := c.List(t.Context(), list, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		list.SetResourceVersion("") // the version differs in each run
		items, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(items)
	}
	return out.String()
}

// TestPlan plans upgrades from Windows Server 2022 to 2025: order, images, surge, pods that stay
// behind, support and builds. Nothing changes until the manifests are applied, and the API server
// accepts them.
func TestPlan(t *testing.T) {
	c := connect(t)
	if err := c.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: "default"}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	create(t, c, "shop", "calico")
	none := func(*corev1.PodSpec) {}
	pod(t, c, "web-1", "web", "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019", none)
	pod(t, c, "web-2", "web", "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019", none)
	pod(t, c, "pinned", "", "mcr.microsoft.com/windows/nanoserver:ltsc2022", func(s *corev1.PodSpec) {
		s.NodeSelector["node.kubernetes.io/windows-build"] = "10.0.20348"
	})
	pod(t, c, "moves", "", "mcr.microsoft.com/windows/nanoserver:ltsc2022", none)
	pod(t, c, "linux", "", "registry.example/app:ltsc2019", func(s *corev1.PodSpec) { s.NodeSelector["kubernetes.io/os"] = "linux" })
	before, folder := versions(t, c), t.TempDir()
	text, code := run(t, "shop", "--to", "2025", "--manifests", folder, "-o", "json")
	if code != app.ExitFailed {
		t.Errorf("exit code %d although Calico does not support 2025", code)
	}
	if after := versions(t, c); after != before {
		t.Error("the plan changed objects")
	}
	var p plan.Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err, text)
	}
	var order []string
	for _, pool := range p.Pools {
		order = append(order, pool.Kind+"/"+pool.Name+" "+pool.From+" "+pool.File)
	}
	if want := []string{"MachinePool/shop-mp 2022 01-shop-mp.yaml", "MachineDeployment/shop-md-own unknown 02-shop-md-own.yaml",
		"MachineDeployment/shop-md-win 2022 03-shop-md-win.yaml"}; !slices.Equal(order, want) {
		t.Fatalf("pools %q, want %q", order, want)
	}
	win, own := p.Pools[2], p.Pools[1]
	if win.Surge != 2 || !strings.Contains(win.Cost, "8 vCPUs") || !strings.HasSuffix(win.Next, "/capi-win-2025-containerd/Versions/1.37.2") ||
		own.Next != "" || own.Surge != 1 {
		t.Errorf("pools %+v, %+v", win, own)
	}
	if len(win.Builds) != 1 || !strings.Contains(win.Builds[0], "KB5040437") {
		t.Errorf("builds %q", win.Builds)
	}
	if len(p.Blocked) != 1 || !strings.Contains(p.Blocked[0], "not supported by Calico") {
		t.Errorf("blocked by %q", p.Blocked)
	}
	if len(p.Ahead) == 0 || !slices.ContainsFunc(p.Ahead, func(s string) bool { return strings.Contains(s, "10.0.26100.6899") }) {
		t.Errorf("ahead %q", p.Ahead)
	}
	var behind []string
	for _, b := range p.Behind {
		behind = append(behind, b.Owner)
	}
	if want := []string{"Deployment/default/web", "Pod/default/pinned"}; !slices.Equal(behind, want) || p.Behind[0].Pods != 2 {
		t.Errorf("behind %+v, want %q", p.Behind, want)
	}
	for _, pool := range p.Pools {
		apply(t, c, filepath.Join(folder, pool.File))
	}
	d := &clusterv1.MachineDeployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "shop-md-win"}, d); err != nil {
		t.Fatal(err)
	}
	next := &infrav1.AzureMachineTemplate{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: d.Spec.Template.Spec.InfrastructureRef.Name}, next); err != nil {
		t.Fatal(err)
	}
	if *d.Spec.Replicas != 4 || d.Spec.Template.Spec.Version != "v1.37.2" || next.Name != "shop-win-2025" ||
		next.Spec.Template.ObjectMeta.Annotations["windowsServerVersion"] != "windows-2025" ||
		next.Spec.Template.ObjectMeta.Annotations["runtime"] != "containerd" || next.Spec.Template.Spec.VMSize != "Standard_D4s_v3" {
		t.Errorf("applied: %+v, %+v", d.Spec, next)
	}
	pool := &infrav1.AzureMachinePool{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "shop-mp"}, pool); err != nil {
		t.Fatal(err)
	}
	if pool.Annotations["windowsServerVersion"] != "windows-2025" || pool.Spec.Template.VMSize != "Standard_D4s_v3" {
		t.Errorf("applied: %+v", pool)
	}
	text, _ = run(t, "shop", "--to", "2025", "-o", "json")
	var again plan.Plan
	if err := json.Unmarshal([]byte(text), &again); err != nil {
		t.Fatal(err)
	}
	for _, one := range again.Pools {
		if !one.There || one.File != "" {
			t.Errorf("after the steps %s is not there: %+v", one.Name, one)
		}
	}
}

// TestFree checks that with Azure CNI nothing prevents the upgrade to 2025, and that the text names
// each pool.
func TestFree(t *testing.T) {
	create(t, connect(t), "free", "azure")
	text, code := run(t, "free")
	if code != app.ExitDone || strings.Contains(text, "AGAINST IT") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	for _, line := range []string{"MachinePool/free-mp", "MachineDeployment/free-md-own", "MachineDeployment/free-md-win", "an image of yours",
		"supported by Azure CNI", "KNOWN REGRESSIONS OF WINDOWS SERVER 2025"} {
		if !strings.Contains(text, line) {
			t.Errorf("it does not say %q:\n%s", line, text)
		}
	}
}

func apply(t *testing.T, c client.Client, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "---\n")
	for doc := range strings.SplitSeq(rest, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		// the newer method Apply requires typed configurations
		if err := c.Patch(t.Context(), o, client.Apply, client.FieldOwner("kubectl"), client.ForceOwnership); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, doc)
		}
	}
}
