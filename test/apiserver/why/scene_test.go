package why

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	helmcrds "casement.dev/casement/internal/helm/crds"
	helmv1 "casement.dev/casement/internal/helm/v1alpha1"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
	"casement.dev/casement/test/apiserver/kinds"
)

// server is the management cluster and the workload cluster in one.
var server *rest.Config

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kubeproc.Plane) error {
		server = plane.Config()
		charts, err := helmcrds.All()
		if err != nil {
			return err
		}
		return kinds.Install(server, charts...)
	}))
}

func connect(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, addonsv1.AddToScheme,
		infrav1.AddToScheme, helmv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(server)
	cfg.QPS, cfg.WarningHandlerWithContext = -1, rest.NoWarnings{}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// scene is a healthy cluster in memory: a Linux control plane machine and a Windows worker of a
// MachineDeployment, with nodes, and a Deployment with a service. A failure changes the scene
// before it is stored.
type scene struct {
	cluster      *clusterv1.Cluster
	azure        *infrav1.AzureCluster
	controlPlane *controlplanev1.KubeadmControlPlane
	cp, worker   *clusterv1.Machine
	cpVM, vm     *infrav1.AzureMachine
	config       *bootstrapv1.KubeadmConfig
	deployment   *clusterv1.MachineDeployment
	set          *clusterv1.MachineSet
	template     *infrav1.AzureMachineTemplate
	bootstrap    *bootstrapv1.KubeadmConfigTemplate
	cpNode, node *corev1.Node
	web          *appsv1.Deployment
	replicas     *appsv1.ReplicaSet
	pod          *corev1.Pod
	service      *corev1.Service
	kubeconfig   *corev1.Secret
	// more are objects that a failure adds.
	more []client.Object
	// gone are objects that are not stored.
	gone []client.Object
	// events are stored after the objects that they are about.
	events []event
	// console is the worker's boot log; logs are the containers' logs.
	console, logs string
	// closed contains the rules in Azure that deny a connection.
	closed []facts.Obstacle
	// vms contains the state in Azure of virtual machines, by the name of the machine.
	vms map[string]facts.VM
	// asked is the examined object; empty for the cluster.
	asked string
	// at is the time of the events, relative to the time at which the facts are read.
	at time.Duration
}

// event is a warning about an object.
type event struct {
	about           client.Object
	reason, message string
}

const (
	ns  = "why"
	old = 3 * time.Hour
)

// began is the start time of these tests. Objects that are equal in several scenes have the same
// times by it.
var began = time.Now()

// past returns a time so long ago that every step should have ended since.
func past() metav1.Time { return metav1.NewTime(began.Add(-old)) }

func meta(name string, labels map[string]string) metav1.ObjectMeta {
	all := map[string]string{clusterv1.ClusterNameLabel: "demo"}
	for k, v := range labels {
		all[k] = v
	}
	return metav1.ObjectMeta{Namespace: ns, Name: name, Labels: all}
}

func ref(group, kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
}

func is(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: past()}
}

func yes(kind string) metav1.Condition { return is(kind, metav1.ConditionTrue, kind, "") }

func machineOf(name, node string, labels map[string]string) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: meta(name, labels)}
	m.Spec.ClusterName, m.Spec.Bootstrap.DataSecretName = "demo", new(name)
	m.Spec.Bootstrap.ConfigRef = ref(bootstrapv1.GroupVersion.Group, "KubeadmConfig", name)
	m.Spec.InfrastructureRef = ref(infrav1.GroupVersion.Group, "AzureMachine", name)
	m.Status.NodeRef.Name = node
	return m
}

func vmOf(name, os string) *infrav1.AzureMachine {
	a := &infrav1.AzureMachine{ObjectMeta: meta(name, nil)}
	a.Spec.VMSize, a.Spec.OSDisk.OSType = "Standard_D2s_v3", os
	a.Spec.ProviderID = new("azure:///subscriptions/s/resourceGroups/demo/providers/Microsoft.Compute/virtualMachines/" + name)
	a.SetConditions([]metav1.Condition{yes(clusterv1.ReadyCondition)})
	return a
}

func nodeOf(name, os string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec.ProviderID = "azure:///subscriptions/s/resourceGroups/demo/providers/Microsoft.Compute/virtualMachines/" + name
	n.Status.NodeInfo.OperatingSystem = os
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: past()}}
	return n
}

// well returns the scene without a failure.
func well() *scene {
	s := &scene{}
	s.cluster = &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
	s.cluster.Spec.InfrastructureRef = ref(infrav1.GroupVersion.Group, "AzureCluster", "demo")
	s.cluster.Spec.ControlPlaneRef = ref(controlplanev1.GroupVersion.Group, "KubeadmControlPlane", "demo")
	s.cluster.Status.Conditions = []metav1.Condition{yes(clusterv1.ClusterAvailableCondition)}
	s.cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{
		InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true),
	}
	s.azure = &infrav1.AzureCluster{ObjectMeta: meta("demo", nil)}
	s.azure.SetConditions([]metav1.Condition{yes(clusterv1.ReadyCondition)})
	s.template = &infrav1.AzureMachineTemplate{ObjectMeta: meta("md", nil)}
	s.template.Spec.Template.Spec.VMSize, s.template.Spec.Template.Spec.OSDisk.OSType = "Standard_D2s_v3", "Windows"
	s.bootstrap = &bootstrapv1.KubeadmConfigTemplate{ObjectMeta: meta("md", nil)}
	s.bootstrap.Spec.Template.Spec.PreKubeadmCommands = []string{"echo"}
	s.controlPlane = &controlplanev1.KubeadmControlPlane{ObjectMeta: meta("demo", nil)}
	s.controlPlane.Spec.Replicas, s.controlPlane.Spec.Version = new(int32(1)), "v1.36.3"
	s.controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef = ref(infrav1.GroupVersion.Group, "AzureMachineTemplate", "md")
	s.controlPlane.Status.Replicas = new(int32(1))
	s.controlPlane.Status.Conditions = []metav1.Condition{yes(controlplanev1.KubeadmControlPlaneInitializedCondition)}
	s.cp = machineOf("cp-0", "cp-0", map[string]string{clusterv1.MachineControlPlaneLabel: ""})
	s.cpVM, s.vm = vmOf("cp-0", "Linux"), vmOf("md-0", "Windows")
	s.deployment = &clusterv1.MachineDeployment{ObjectMeta: meta("md", nil)}
	s.deployment.Spec.ClusterName, s.deployment.Spec.Replicas = "demo", new(int32(1))
	s.deployment.Spec.Selector.MatchLabels = map[string]string{"set": "md"}
	s.deployment.Spec.Template.Labels = s.deployment.Spec.Selector.MatchLabels
	t := &s.deployment.Spec.Template.Spec
	t.ClusterName = "demo"
	t.Bootstrap.ConfigRef = ref(bootstrapv1.GroupVersion.Group, "KubeadmConfigTemplate", "md")
	t.InfrastructureRef = ref(infrav1.GroupVersion.Group, "AzureMachineTemplate", "md")
	s.deployment.Status.Replicas = new(int32(1))
	s.set = &clusterv1.MachineSet{ObjectMeta: meta("md-x", map[string]string{clusterv1.MachineDeploymentNameLabel: "md"})}
	s.set.Spec.ClusterName, s.set.Spec.Replicas, s.set.Spec.Selector = "demo", new(int32(1)), s.deployment.Spec.Selector
	s.set.Spec.Template = *s.deployment.Spec.Template.DeepCopy()
	s.set.Status.Replicas = new(int32(1))
	s.worker = machineOf("md-0", "md-0",
		map[string]string{clusterv1.MachineDeploymentNameLabel: "md", clusterv1.MachineSetNameLabel: "md-x"})
	s.config = &bootstrapv1.KubeadmConfig{ObjectMeta: meta("md-0", nil)}
	s.cpNode, s.node = nodeOf("cp-0", "linux"), nodeOf("md-0", "windows")
	s.workloads()
	return s
}

// workloads sets the Deployment web, its ReplicaSet and pod, and its service.
func (s *scene) workloads() {
	app := map[string]string{"app": "web"}
	spec := corev1.PodSpec{NodeName: "", ServiceAccountName: "pods", AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1",
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}}}}
	s.web = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	s.web.Spec.Replicas, s.web.Spec.Selector = new(int32(1)), &metav1.LabelSelector{MatchLabels: app}
	s.web.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: spec}
	s.replicas = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-1"}}
	s.replicas.Spec.Replicas, s.replicas.Spec.Selector, s.replicas.Spec.Template = s.web.Spec.Replicas,
		s.web.Spec.Selector, s.web.Spec.Template
	s.replicas.Status.Replicas = 1
	s.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-1-x", Labels: app}, Spec: *spec.DeepCopy()}
	s.pod.Spec.NodeName = "md-0"
	s.pod.Status.Phase = corev1.PodRunning
	s.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: past()}}}}
	s.service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	s.service.Spec.Selector, s.service.Spec.Ports = app, []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}}
}

// objects returns the objects to create, owners before the objects that they own.
func (s *scene) objects() []client.Object {
	all := []client.Object{s.cluster, s.azure, s.template, s.bootstrap, s.controlPlane, s.deployment, s.set, s.cp,
		s.worker, s.cpVM, s.vm, s.config,
		s.cpNode, s.node, s.web, s.replicas, s.pod, s.service, s.kubeconfig}
	return slices.DeleteFunc(append(all, s.more...), func(o client.Object) bool { return slices.Contains(s.gone, o) })
}

// owners maps objects to their owners.
func (s *scene) owners() map[client.Object]client.Object {
	return map[client.Object]client.Object{s.set: s.deployment, s.worker: s.set, s.replicas: s.web, s.pod: s.replicas}
}

// kubeconfigOf returns the Secret with a kubeconfig in which the server is the workload cluster.
func kubeconfigOf(t *testing.T, cfg *rest.Config) *corev1.Secret {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Token: cfg.BearerToken}
	k.Contexts["x"], k.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "x"
	data, err := clientcmd.Write(*k)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo-kubeconfig"}, Data: map[string][]byte{"value": data}}
}

// stored is an object as the server stores it, and the text from which it was created.
type stored struct {
	text   string
	object client.Object
}

// kept contains the server's objects of the last scene, by kind and name. The next scene reuses the
// equal ones.
var kept = map[string]stored{}

// store stores the scene's objects with their statuses and events in the server. Objects that are
// equal in the last scene stay, other objects of that scene are deleted. An object that is being
// deleted is created and deleted, and its finalizers keep it.
func (s *scene) store(t *testing.T, c client.Client) {
	t.Helper()
	key := func(o client.Object) string { return fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName()) }
	objects, owners := s.objects(), s.owners()
	wanted := map[string]bool{}
	for _, o := range objects {
		wanted[key(o)] = true
	}
	for k, old := range kept {
		if !wanted[k] {
			remove(t, c, old.object)
			delete(kept, k)
		}
	}
	for _, o := range objects {
		if owner := owners[o]; owner != nil && owner.GetUID() != "" {
			gvk, err := c.GroupVersionKindFor(owner)
			if err != nil {
				t.Fatal(err)
			}
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
				Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true)}})
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		old, found := kept[key(o)]
		if found && old.text == string(text) && o.GetDeletionTimestamp() == nil {
			o.SetUID(old.object.GetUID())
			continue
		}
		if found {
			remove(t, c, old.object)
		}
		create(t, c, o)
		kept[key(o)] = stored{string(text), o}
	}
	for _, e := range s.events {
		warning := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "e-"},
			Type: corev1.EventTypeWarning, Reason: e.reason, Message: e.message, LastTimestamp: metav1.NewTime(time.Now().Add(old + s.at)),
			InvolvedObject: corev1.ObjectReference{Namespace: ns, Name: e.about.GetName(), UID: e.about.GetUID()}}
		if err := c.Create(t.Context(), warning); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { remove(t, c, warning) })
	}
}

// create creates an object with its status, and deletes it if its deletion timestamp is set.
func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	want, _ := o.DeepCopyObject().(client.Object)
	goes := o.GetDeletionTimestamp() != nil
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
	want.SetResourceVersion(o.GetResourceVersion())
	want.SetUID(o.GetUID())
	want.SetDeletionTimestamp(nil)
	if !noStatus(o) {
		if err := c.Status().Update(t.Context(), want); err != nil {
			t.Fatalf("update the status of %T %s: %v", o, o.GetName(), err)
		}
	}
	if goes {
		if err := c.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// noStatus reports whether a kind has no status to write.
func noStatus(o client.Object) bool {
	switch o.(type) {
	case *corev1.Secret, *bootstrapv1.KubeadmConfigTemplate, *infrav1.AzureMachineTemplate, *corev1.ServiceAccount,
		*storagev1.StorageClass, *networkingv1.NetworkPolicy, *networkingv1.IngressClass:
		return true
	}
	return false
}

// remove deletes an object immediately, after removing its finalizers.
func remove(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	ctx := context.Background()
	var errs []error
	if len(o.GetFinalizers()) > 0 {
		errs = append(errs, c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	}
	errs = append(errs, client.IgnoreNotFound(c.Delete(ctx, o, client.GracePeriodSeconds(0))))
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// read gathers the facts of the scene, with its logs, as if the time were old later, and returns
// the examined object.
func (s *scene) read(t *testing.T, c client.Client) (*facts.Snapshot, facts.Object) {
	t.Helper()
	asked := s.asked
	if asked == "" {
		asked = "cluster/demo"
	}
	object, err := facts.Find(t.Context(), c, ns, "demo", asked)
	if err != nil {
		t.Fatal(err)
	}
	f, err := facts.Of(t.Context(), c, object)
	if err != nil {
		t.Fatal(err)
	}
	f.Taken, f.Closed, f.VMs = f.Taken.Add(old), s.closed, s.vms
	f.Console = func(m *clusterv1.Machine) string {
		if m.Name == s.worker.Name {
			return s.console
		}
		return ""
	}
	f.Logs = func(*corev1.Pod, string) string { return s.logs }
	return f, object
}

// answer returns the answer of why for the scene. If the usual kinds of a cluster have no fault,
// the other kinds are read too.
func (s *scene) answer(t *testing.T, c client.Client) walk.Answer {
	t.Helper()
	f, object := s.read(t, c)
	a, err := walk.Object(f, object)
	if err == nil && a.Healthy && f.More != nil {
		if err = f.More(t.Context()); err == nil {
			a, err = walk.Object(f, object)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}
