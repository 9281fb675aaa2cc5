package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/manager"
)

// paperName is the namespace and the name of the cluster on paper.
const paperName = "paper"

// onPaper measures commands on a separate plane with many machines that exist only as objects.
func (p *plane) onPaper(show func(row), machines int) error {
	const model = "model"
	if err := p.all([]string{"up"}); err != nil {
		return err
	}
	if err := p.create(model, "windows", 1, "20m"); err != nil {
		return err
	}
	if err := p.paper(context.Background(), show, model, machines); err != nil {
		return err
	}
	return p.all([]string{"down", "--purge"})
}

// paper measures the read-only commands on a cluster whose machines exist only as objects: copies
// of a Windows machine of a real cluster, its node and its pods, which no controller touches. They
// cost minutes less than machines that boot. All have the address of that machine, so that
// connections to nodes are real.
func (p *plane) paper(ctx context.Context, show func(row), model string, machines int) error {
	workload, err := kubeproc.Start(ctx,
		kubeproc.Config{Dir: filepath.Join(p.files, "workload"), Binary: filepath.Join(p.bin, "casement-kube")})
	if err != nil {
		return err
	}
	defer workload.Stop(context.WithoutCancel(ctx))
	if err := workload.AwaitReady(ctx); err != nil {
		return err
	}
	c := &copier{machines: machines}
	if err := c.connect(p, workload.Config(), model); err != nil {
		return err
	}
	start := time.Now()
	if err := c.copyCluster(ctx, model, workload.Kubeconfig()); err != nil {
		return err
	}
	fmt.Printf("(%d machines on paper in %.0f s)\n", machines, time.Since(start).Seconds())
	return p.observe(show, paperName, paperName)
}

// copier copies the objects of a model cluster.
type copier struct {
	machines int
	// Clients of the management cluster, the model's workload cluster, and the cluster on paper.
	management, model, paper client.Client
}

func (c *copier) connect(p *plane, paper *rest.Config, model string) error {
	scheme, err := manager.Scheme()
	if err != nil {
		return err
	}
	dial := func(cfg *rest.Config) (client.Client, error) {
		cfg = rest.CopyConfig(cfg)
		cfg.QPS = -1
		return client.New(cfg, client.Options{Scheme: scheme})
	}
	file, err := p.casement(nil, "status", "-o", "kubeconfig")
	if err != nil {
		return err
	}
	management, err := clientcmd.BuildConfigFromFlags("", strings.TrimSpace(string(file)))
	if err != nil {
		return err
	}
	kubeconfig, err := p.casement(nil, "get", "kubeconfig", model)
	if err != nil {
		return err
	}
	workload, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		to  *client.Client
		cfg *rest.Config
	}{{&c.management, management}, {&c.model, workload}, {&c.paper, paper}} {
		if *one.to, err = dial(one.cfg); err != nil {
			return err
		}
	}
	return nil
}

// copyCluster copies the cluster's common objects once, and a Windows machine with its
// config, VM, node and pods once per machine.
func (c *copier) copyCluster(ctx context.Context, model string, kubeconfig []byte) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: paperName}}
	if err := c.management.Create(ctx, namespace); err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: paperName, Name: paperName + "-kubeconfig",
		Labels: map[string]string{clusterv1.ClusterNameLabel: paperName}},
		Type: clusterv1.ClusterSecretType, Data: map[string][]byte{"value": kubeconfig}}
	if err := c.management.Create(ctx, secret); err != nil {
		return err
	}
	for _, one := range []struct{ group, kind, name string }{
		{"infrastructure.cluster.x-k8s.io/v1beta1", "AzureCluster", model},
		{"controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", model + "-control-plane"},
		{"cluster.x-k8s.io/v1beta2", "Cluster", model}, {"cluster.x-k8s.io/v1beta2", "MachineDeployment", model + "-md-win"},
	} {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(one.group)
		o.SetKind(one.kind)
		if err := c.management.Get(ctx, client.ObjectKey{Namespace: "default", Name: one.name}, o); err != nil {
			return err
		}
		if err := put(ctx, c.management, renamed(o, model, paperName)); err != nil {
			return err
		}
	}
	return c.copyMachines(ctx, model)
}

func (c *copier) copyMachines(ctx context.Context, model string) error {
	var machines clusterv1.MachineList
	if err := c.management.List(ctx, &machines, client.InNamespace("default"),
		client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: model + "-md-win"}); err != nil {
		return err
	}
	if len(machines.Items) == 0 {
		return fmt.Errorf("cluster %s has no Windows machine to copy", model)
	}
	m := &machines.Items[0]
	ref := func(version, kind, name string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(version)
		o.SetKind(kind)
		o.SetName(name)
		o.SetNamespace("default")
		return o
	}
	node := ref("v1", "Node", m.Status.NodeRef.Name)
	node.SetNamespace("")
	from := []*unstructured.Unstructured{ref("cluster.x-k8s.io/v1beta2", "Machine", m.Name),
		ref("infrastructure.cluster.x-k8s.io/v1beta1", "AzureMachine", m.Spec.InfrastructureRef.Name),
		ref("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", m.Spec.Bootstrap.ConfigRef.Name)}
	for _, o := range from {
		if err := c.management.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
	}
	if err := c.model.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
		return err
	}
	pods := &unstructured.UnstructuredList{}
	pods.SetAPIVersion("v1")
	pods.SetKind("PodList")
	if err := c.model.List(ctx, pods, client.MatchingFields{"spec.nodeName": node.GetName()}); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		account, _, _ := unstructured.NestedString(pod.Object, "spec", "serviceAccountName")
		err := c.paper.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.GetNamespace(), Name: account}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	// The names of a machine's objects, each of which is replaced in each copy.
	names := []string{m.Name, node.GetName(), m.Spec.InfrastructureRef.Name, m.Spec.Bootstrap.ConfigRef.Name}
	slices.Sort(names)
	names = slices.Compact(names)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(copiers)
	for i := range c.machines {
		work.Go(func() error { return c.copyMachine(ctx, model, i, names, from, node, pods.Items) })
	}
	return work.Wait()
}

// copiers is the number of machines that are copied at the same time.
const copiers = 32

// copyMachine creates the copy with number i.
func (c *copier) copyMachine(ctx context.Context, model string, i int, names []string,
	from []*unstructured.Unstructured, node *unstructured.Unstructured, pods []unstructured.Unstructured) error {
	another := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		o = renamed(o, model, paperName)
		for _, name := range names {
			replace(o.Object, strings.ReplaceAll(name, model, paperName),
				fmt.Sprintf("%s-%04d", strings.ReplaceAll(name, model, paperName), i))
		}
		return o
	}
	for _, o := range from {
		if err := put(ctx, c.management, another(o)); err != nil {
			return err
		}
	}
	if err := put(ctx, c.paper, another(node)); err != nil {
		return err
	}
	for j := range pods {
		pod := another(&pods[j])
		pod.SetNamespace(pods[j].GetNamespace())
		pod.SetName(fmt.Sprintf("%s-%04d", pod.GetName(), i))
		if err := put(ctx, c.paper, pod); err != nil {
			return err
		}
	}
	return nil
}

// renamed returns a copy of an object, with another cluster's name in place of the model's, that
// controllers ignore.
func renamed(o *unstructured.Unstructured, model, to string) *unstructured.Unstructured {
	o = o.DeepCopy()
	replace(o.Object, model, to)
	if o.GetNamespace() != "" {
		o.SetNamespace(to)
	}
	o.SetOwnerReferences(nil)
	o.SetFinalizers(nil)
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetManagedFields(nil)
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[clusterv1.PausedAnnotation] = "true"
	o.SetAnnotations(annotations)
	return o
}

// replace replaces text in every string of decoded JSON.
func replace(v any, from, to string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = replace(v[k], from, to)
		}
	case []any:
		for i := range v {
			v[i] = replace(v[i], from, to)
		}
	case string:
		return strings.ReplaceAll(v, from, to)
	}
	return v
}

// put creates an object and its status.
func put(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	status, has := o.Object["status"]
	if err := c.Create(ctx, o); err != nil {
		return fmt.Errorf("copy %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if !has {
		return nil
	}
	patch, err := (&unstructured.Unstructured{
		Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "status": status},
	}).MarshalJSON()
	if err != nil {
		return err
	}
	if err := c.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("copy the status of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}
