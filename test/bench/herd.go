package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/kuberelease"
)

// herd is many clusters with machines and pools. It acts as Cluster API's controllers: it writes
// the fields that casement-manager reads.
type herd struct {
	client client.Client
	// seen reads casement's objects.
	seen client.Reader
	// spaces are the namespaces, one for each manager; the clusters are in them in turn, and so
	// with subscriptions.
	spaces, subscriptions []string
	clusters              []*clusterv1.Cluster
	// members maps the names of the machines that must be provisioned to their clusters.
	members map[string]*clusterv1.Cluster
	pools   int
	// pace limits the number of objects that are created or deleted in a second.
	pace flowcontrol.RateLimiter
	// played contains the objects whose provisioning was recorded in Cluster API's objects, by kind
	// and name.
	played map[string]bool
}

// watch starts a cache for casement's objects, so that play sends no reads to the API server.
func (h *herd) watch(ctx context.Context, all cache.Cache) error {
	for _, o := range []client.Object{&infrav1.AzureCluster{}, &infrav1.AzureMachine{}, &infrav1.AzureMachinePool{},
		&infrav1.AzureMachinePoolMachine{}} {
		if _, err := all.GetInformer(ctx, o, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	go func() { _ = all.Start(ctx) }() // ends with ctx
	if !all.WaitForCacheSync(ctx) {
		return errors.New("the objects of the clusters cannot be watched")
	}
	h.seen = all
	return nil
}

// players is the number of concurrent requests of the simulated Cluster API.
const players = 8

// each calls do for 0 to n-1, up to players calls at the same time, and joins the errors.
func each(ctx context.Context, n int, do func(int) error) error {
	var mu sync.Mutex
	var errs []error
	workqueue.ParallelizeUntil(ctx, players, n, func(i int) {
		if err := do(i); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}

// arrive calls do for 0 to n-1, several at the same time, and plays Cluster API meanwhile.
func (h *herd) arrive(ctx context.Context, n int, do func(int) error) error {
	made := make(chan error, 1)
	go func() { made <- each(ctx, n, do) }()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case err := <-made:
			return errors.Join(err, ctx.Err())
		case <-second.C:
			if _, err := h.play(ctx); err != nil {
				return err
			}
		}
	}
}

// fill creates clusters, each with its machines and pools, and returns when all are provisioned.
func (h *herd) fill(ctx context.Context, secret string, machines, clusters, pools int) error {
	for _, space := range h.spaces {
		if err := h.prepare(ctx, space, secret); err != nil {
			return err
		}
	}
	h.clusters, h.members, h.played = make([]*clusterv1.Cluster, clusters), map[string]*clusterv1.Cluster{}, map[string]bool{}
	for i := range h.clusters {
		h.clusters[i] = h.newCluster(i)
	}
	h.pools = pools
	h.expect(0, machines)
	var orders []func() error
	for i, cluster := range h.clusters {
		first := sync.OnceValue(func() error { return h.cluster(ctx, cluster, h.subscriptions[i%len(h.subscriptions)]) })
		orders = append(orders, first)
		in := func(count int, do func(number int) error) {
			for number := i; number < count; number += clusters {
				orders = append(orders, func() error {
					if err := first(); err != nil {
						return err
					}
					return do(number)
				})
			}
		}
		in(pools, func(number int) error { return h.pool(ctx, fmt.Sprintf("pool-%04d", number), cluster) })
		in(machines, func(number int) error { return h.machine(ctx, machineName(number), cluster) })
	}
	if err := h.arrive(ctx, len(orders), func(i int) error { return orders[i]() }); err != nil {
		return err
	}
	return h.settle(ctx)
}

func machineName(i int) string { return fmt.Sprintf("win-%05d", i) }

// expect adds the machines with numbers of at least from and less than to to the expected ones, in
// turn in each cluster.
func (h *herd) expect(from, to int) {
	for i := from; i < to; i++ {
		h.members[machineName(i)] = h.clusters[i%len(h.clusters)]
	}
}

// roll replaces the first count machines, like a rollout that creates all new machines first, and
// returns when the old ones are gone.
func (h *herd) roll(ctx context.Context, machines, count int) error {
	h.expect(machines, machines+count)
	err := h.arrive(ctx, count, func(i int) error {
		name := machineName(machines + i)
		return h.machine(ctx, name, h.members[name])
	})
	if err != nil {
		return err
	}
	if err := h.settle(ctx); err != nil {
		return err
	}
	old := make([]string, count)
	for i := range old {
		old[i] = machineName(i)
	}
	err = h.arrive(ctx, count, func(i int) error {
		if err := h.pace.Wait(ctx); err != nil {
			return err
		}
		o := &infrav1.AzureMachine{ObjectMeta: h.meta(old[i], h.members[old[i]])}
		return h.client.Delete(ctx, o)
	})
	if err != nil {
		return err
	}
	err = until(ctx, func(ctx context.Context) (bool, error) {
		var list infrav1.AzureMachineList
		err := h.seen.List(ctx, &list, client.UnsafeDisableDeepCopy)
		return len(list.Items) == machines, err
	})
	if err != nil {
		return err
	}
	err = each(ctx, count, func(i int) error {
		m := &clusterv1.Machine{ObjectMeta: h.meta(old[i], h.members[old[i]])}
		return h.client.Delete(ctx, m)
	})
	for _, name := range old {
		delete(h.members, name)
	}
	return err
}

// settle plays Cluster API until all machines and pools are provisioned and recorded.
func (h *herd) settle(ctx context.Context) error {
	return until(ctx, func(ctx context.Context) (bool, error) {
		ready, err := h.play(ctx)
		return ready, err
	})
}

// play records in Cluster API's objects what was provisioned since the last call: clusters'
// infrastructure, and machines' nodes. It reports whether all machines and pools are provisioned.
func (h *herd) play(ctx context.Context) (bool, error) {
	var clusters infrav1.AzureClusterList
	var machines infrav1.AzureMachineList
	var pools infrav1.AzureMachinePoolList
	var instances infrav1.AzureMachinePoolMachineList
	for _, list := range []client.ObjectList{&clusters, &machines, &pools, &instances} {
		if err := h.seen.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return false, err
		}
	}
	var due []func() error
	note := func(key string, is bool, do func() error) {
		if is && !h.played[key] {
			h.played[key] = true
			due = append(due, do)
		}
	}
	yes := func(p *bool) bool { return p != nil && *p }
	for _, c := range clusters.Items {
		note("cluster "+c.Name, yes(c.Status.Initialization.Provisioned), func() error { return h.reachable(ctx, c.Namespace, c.Name) })
	}
	ready, whole := 0, 0
	for _, m := range machines.Items {
		if m.Status.Ready {
			ready++
		}
		note("machine "+m.Name, m.Status.Ready, func() error {
			return h.joined(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}})
		})
	}
	for _, p := range pools.Items {
		if yes(p.Status.Initialization.Provisioned) && p.Status.Replicas == poolInstances {
			whole++
		}
	}
	for _, i := range instances.Items {
		note("instance "+i.Name, i.Status.InstanceName != "", func() error { return h.instance(ctx, i) })
	}
	err := each(ctx, len(due), func(i int) error { return due[i]() })
	return ready >= len(h.members) && whole == h.pools && len(due) == 0, err
}

// reachable sets the fields of a Cluster whose infrastructure was provisioned.
func (h *herd) reachable(ctx context.Context, namespace, name string) error {
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	before := c.DeepCopy()
	c.Status.Initialization.InfrastructureProvisioned = new(true)
	return h.client.Status().Patch(ctx, c, client.MergeFrom(before))
}

// joined sets the node of a Machine.
func (h *herd) joined(ctx context.Context, m *clusterv1.Machine) error {
	before := m.DeepCopy()
	m.Status.NodeRef.Name = m.Name
	for _, is := range []string{clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition} {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: is, Status: metav1.ConditionTrue, Reason: is,
			LastTransitionTime: metav1.Now()})
	}
	return h.client.Status().Patch(ctx, m, client.MergeFrom(before))
}

// instance creates the Machine of an instance of a pool.
func (h *herd) instance(ctx context.Context, shown infrav1.AzureMachinePoolMachine) error {
	m := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: shown.Namespace, Name: shown.Name, Labels: shown.Labels},
		Spec: clusterv1.MachineSpec{
			ClusterName: shown.Labels[clusterv1.ClusterNameLabel], ProviderID: shown.Spec.ProviderID, Version: kuberelease.Default,
			Bootstrap:         clusterv1.Bootstrap{DataSecretName: new(shown.Labels[clusterv1.MachinePoolNameLabel])},
			InfrastructureRef: reference(infrav1.AzureMachinePoolMachineKind, shown.Name),
		},
	}
	if err := h.client.Create(ctx, m); err != nil {
		return err
	}
	return h.joined(ctx, m)
}

// meta returns the metadata of an object that belongs to a cluster.
func (h *herd) meta(name string, of *clusterv1.Cluster) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: of.Namespace, Name: name,
		Labels: map[string]string{clusterv1.ClusterNameLabel: of.Name, clusterv1.WatchLabel: of.Namespace}}
}

func (h *herd) owned(name string, of *clusterv1.Cluster, kind string, owner client.Object) metav1.ObjectMeta {
	m := h.meta(name, of)
	m.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID()},
	}
	return m
}

func reference(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
}

// prepare creates a namespace with an identity.
func (h *herd) prepare(ctx context.Context, space, secret string) error {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: space, Name: name, Labels: map[string]string{clusterv1.WatchLabel: space}}
	}
	if err := h.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}); err != nil {
		return err
	}
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: meta("sp"), Data: map[string][]byte{"clientSecret": []byte(secret)}},
		&infrav1.AzureClusterIdentity{ObjectMeta: meta("identity"), Spec: infrav1.AzureClusterIdentitySpec{
			Type: infrav1.ServicePrincipal, ClientID: azuresim.DefaultClient, TenantID: azuresim.DefaultTenant,
			ClientSecret:      corev1.SecretReference{Name: "sp", Namespace: space},
			AllowedNamespaces: &infrav1.AllowedNamespaces{},
		}},
	} {
		if err := create(ctx, h.client, o); err != nil {
			return err
		}
	}
	return nil
}

// newCluster returns the Cluster with a number; the caller creates it.
func (h *herd) newCluster(i int) *clusterv1.Cluster {
	name := fmt.Sprintf("bench%d", i)
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: h.spaces[i%len(h.spaces)], Name: name},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: reference("AzureCluster", name)}}
	cluster.ObjectMeta = h.meta(name, cluster)
	return cluster
}

// cluster creates a Cluster and its AzureCluster.
func (h *herd) cluster(ctx context.Context, cluster *clusterv1.Cluster, subscription string) error {
	if err := h.pace.Wait(ctx); err != nil {
		return err
	}
	name := cluster.Name
	if err := create(ctx, h.client, cluster); err != nil {
		return err
	}
	azure := &infrav1.AzureCluster{ObjectMeta: h.owned(name, cluster, "Cluster", cluster)}
	azure.Spec.Location, azure.Spec.SubscriptionID = location, subscription
	azure.Spec.ControlPlaneEnabled = true
	azure.Spec.IdentityRef = &corev1.ObjectReference{Kind: "AzureClusterIdentity", Name: "identity"}
	return create(ctx, h.client, azure)
}

// location is the region of all clusters.
const location = "westeurope"

// template returns a Machine's template, after creating the Secret with its bootstrap data.
func (h *herd) template(ctx context.Context, name string, of *clusterv1.Cluster, kind string) (clusterv1.MachineSpec, error) {
	if err := h.pace.Wait(ctx); err != nil {
		return clusterv1.MachineSpec{}, err
	}
	secret := &corev1.Secret{ObjectMeta: h.meta(name, of), Type: clusterv1.ClusterSecretType, Data: map[string][]byte{
		"value": []byte("## template: jinja\n#cloud-config\n\nruncmd:\n  - kubeadm join\n# " + strings.Repeat("x", 4<<10) + "\n"),
	}}
	return clusterv1.MachineSpec{ClusterName: of.Name, Version: kuberelease.Default,
		Bootstrap: clusterv1.Bootstrap{DataSecretName: new(name)}, InfrastructureRef: reference(kind, name)}, h.client.Create(ctx, secret)
}

// machine creates a Machine and its AzureMachine.
func (h *herd) machine(ctx context.Context, name string, of *clusterv1.Cluster) error {
	spec, err := h.template(ctx, name, of, "AzureMachine")
	if err != nil {
		return err
	}
	m := &clusterv1.Machine{ObjectMeta: h.meta(name, of), Spec: spec}
	if err := h.client.Create(ctx, m); err != nil {
		return err
	}
	am := &infrav1.AzureMachine{ObjectMeta: h.owned(name, of, "Machine", m)}
	am.Annotations = map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "template"}
	am.Spec.VMSize, am.Spec.OSDisk = "Standard_D2s_v3", infrav1.OSDisk{OSType: infrav1.WindowsOS, DiskSizeGB: new(int32(128))}
	return h.client.Create(ctx, am)
}

// poolInstances is the number of instances of each pool.
const poolInstances = 2

// pool creates a MachinePool and its AzureMachinePool.
func (h *herd) pool(ctx context.Context, name string, of *clusterv1.Cluster) error {
	spec, err := h.template(ctx, name, of, "AzureMachinePool")
	if err != nil {
		return err
	}
	p := &clusterv1.MachinePool{ObjectMeta: h.meta(name, of), Spec: clusterv1.MachinePoolSpec{
		ClusterName: of.Name, Replicas: new(int32(poolInstances)), Template: clusterv1.MachineTemplateSpec{Spec: spec},
	}}
	if err := h.client.Create(ctx, p); err != nil {
		return err
	}
	ap := &infrav1.AzureMachinePool{ObjectMeta: h.owned(name, of, "MachinePool", p)}
	ap.Spec.Location = location
	ap.Spec.Template.VMSize = "Standard_D2s_v3"
	ap.Spec.Template.OSDisk = infrav1.OSDisk{OSType: infrav1.LinuxOS, DiskSizeGB: new(int32(128))}
	return h.client.Create(ctx, ap)
}

// create creates an object, and retries until the webhook server answers.
func create(ctx context.Context, c client.Client, o client.Object) error {
	err := until(ctx, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, o)
		return err == nil, ignoreInternal(err)
	})
	if err != nil {
		return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// until calls done every second, for at most three hours.
func until(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, time.Second, 3*time.Hour, true, done)
}

func ignoreInternal(err error) error {
	if apierrors.IsInternalError(err) {
		return nil
	}
	return err
}
