package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// pool is a MachinePool and its AzureMachinePool. The test acts as Cluster API: it creates a Machine for
// each instance, and deletes the Machines that the pool marks.
type pool struct {
	*bed
	machinePool *clusterv1.MachinePool
	azure       *infrav1.AzureMachinePool
}

// olderVersion is the Kubernetes version of new pools, so that they can be upgraded.
const olderVersion = "v1.34.2"

// playedFinalizer replaces Cluster API's finalizer, which keeps a Machine until its infrastructure is gone.
const playedFinalizer = "integration.casement.dev/machine"

// pool creates a MachinePool with its bootstrap data and the AzureMachinePool.
func (b *bed) pool(name, os string, mode infrav1.OrchestrationMode, replicas int32) *pool {
	b.t.Helper()
	data := &corev1.Secret{ObjectMeta: b.meta(name), Data: map[string][]byte{"value": []byte(goodBootstrapData)}}
	b.create(data)
	p := &pool{bed: b}
	p.machinePool = &clusterv1.MachinePool{ObjectMeta: b.meta(name), Spec: clusterv1.MachinePoolSpec{
		ClusterName: b.name, Replicas: &replicas,
		Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: b.name, Version: olderVersion, Bootstrap: clusterv1.Bootstrap{DataSecretName: &data.Name},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "AzureMachinePool", Name: name,
			},
		}},
	}}
	p.machinePool.Labels = map[string]string{clusterv1.ClusterNameLabel: b.name}
	b.create(p.machinePool)
	p.azure = &infrav1.AzureMachinePool{ObjectMeta: b.owned(name, "MachinePool", p.machinePool)}
	p.azure.Annotations = map[string]string{"runtime": "containerd", "windowsServerVersion": "windows-2022"}
	p.azure.Spec.Location = location
	p.azure.Spec.OrchestrationMode = mode
	p.azure.Spec.Template.VMSize = vmSize
	p.azure.Spec.Template.OSDisk = infrav1.OSDisk{OSType: os, DiskSizeGB: new(int32(128))}
	b.create(p.azure)
	return p
}

// settled acts as Cluster API until the pool has the desired number of instances, all of the newest
// model and each with an address and a node. It returns the instances.
func (p *pool) settled() []infrav1.AzureMachinePoolMachine {
	p.t.Helper()
	var shown []infrav1.AzureMachinePoolMachine
	p.eventually(p.azure, func() string {
		p.play()
		var objection string
		shown, objection = p.unsettled()
		return objection
	})
	return shown
}

// unsettled returns the instances, and the reason why the pool is not settled.
func (p *pool) unsettled() (shown []infrav1.AzureMachinePoolMachine, objection string) {
	p.t.Helper()
	shown = p.shown()
	p.get(p.machinePool)
	switch {
	case p.azure.Status.Initialization.Provisioned == nil || !*p.azure.Status.Initialization.Provisioned:
		return shown, "not provisioned"
	case len(shown) != int(*p.machinePool.Spec.Replicas) || int(p.azure.Status.Replicas) != len(shown):
		return shown, "not as many instances as wanted"
	case len(p.azure.Status.LongRunningOperationStates) > 0:
		return shown, "an operation is under way"
	}
	for _, m := range shown {
		if !m.Status.LatestModelApplied || !m.Status.Ready || len(m.Status.Addresses) < 2 ||
			m.Status.NodeRef == nil || !m.DeletionTimestamp.IsZero() {
			return shown, fmt.Sprintf("instance %s is not as it should be: deleted %v, %+v", m.Name, m.DeletionTimestamp, m.Status)
		}
	}
	return shown, ""
}

func (p *pool) labels() client.ListOption {
	return client.MatchingLabels{clusterv1.ClusterNameLabel: p.name, clusterv1.MachinePoolNameLabel: p.machinePool.Name}
}

func (p *pool) shown() []infrav1.AzureMachinePoolMachine {
	p.t.Helper()
	var list infrav1.AzureMachinePoolMachineList
	if err := p.client.List(p.t.Context(), &list, client.InNamespace(p.namespace), p.labels()); err != nil {
		p.t.Fatal(err)
	}
	return list.Items
}

// play takes the next steps of Cluster API: it creates the Machines of instances, and drains and
// deletes the Machines of the instances that the pool removes.
func (p *pool) play() {
	p.t.Helper()
	machines, shown := p.machines(), p.shown()
	isNew := func(m infrav1.AzureMachinePoolMachine) bool {
		return machines[m.Name] == nil && m.Status.InstanceName != ""
	}
	if slices.ContainsFunc(shown, isNew) {
		// The pool creates the objects of its instances one by one. Once it is paused, its
		// reconcile has ended and all objects exist; all instances join before it continues.
		p.hold(true)
		shown = p.shown()
		for i := range shown {
			if isNew(shown[i]) {
				p.join(&shown[i])
			}
		}
		p.hold(false)
	}
	if len(p.draining()) > 0 {
		// The pool marks instances for removal one by one. Once it is paused, its reconcile has
		// ended and all of them are marked.
		p.hold(true)
		for _, m := range p.draining() {
			if err := client.IgnoreNotFound(p.client.Delete(p.t.Context(), m)); err != nil {
				p.t.Fatal(err)
			}
		}
		p.hold(false)
	}
	for name, m := range machines {
		gone := !slices.ContainsFunc(shown, func(s infrav1.AzureMachinePoolMachine) bool { return s.Name == name })
		if gone && !m.DeletionTimestamp.IsZero() {
			p.change(m, func() { m.Finalizers = nil })
		}
	}
}

// machines returns the pool's Machines by the names of their infrastructure objects.
func (p *pool) machines() map[string]*clusterv1.Machine {
	p.t.Helper()
	var list clusterv1.MachineList
	if err := p.client.List(p.t.Context(), &list, client.InNamespace(p.namespace), p.labels()); err != nil {
		p.t.Fatal(err)
	}
	out := map[string]*clusterv1.Machine{}
	for i := range list.Items {
		out[list.Items[i].Spec.InfrastructureRef.Name] = &list.Items[i]
	}
	return out
}

// draining returns the instances whose Machines are being deleted but that are not being deleted
// themselves yet.
func (p *pool) draining() []*infrav1.AzureMachinePoolMachine {
	p.t.Helper()
	machines, shown := p.machines(), p.shown()
	var out []*infrav1.AzureMachinePoolMachine
	for i := range shown {
		if m := machines[shown[i].Name]; m != nil && !m.DeletionTimestamp.IsZero() && shown[i].DeletionTimestamp.IsZero() {
			out = append(out, &shown[i])
		}
	}
	return out
}

// join creates the Machine of an instance, with a ready node.
func (p *pool) join(shown *infrav1.AzureMachinePoolMachine) {
	p.t.Helper()
	m := &clusterv1.Machine{ObjectMeta: p.meta(shown.Name), Spec: clusterv1.MachineSpec{
		ClusterName: p.name, ProviderID: shown.Spec.ProviderID, Version: p.machinePool.Spec.Template.Spec.Version,
		Bootstrap: clusterv1.Bootstrap{DataSecretName: p.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: infrav1.AzureMachinePoolMachineKind, Name: shown.Name,
		},
	}}
	m.Labels, m.Finalizers = shown.Labels, []string{playedFinalizer}
	p.create(m)
	m.Status.NodeRef.Name = strings.ToLower(shown.Status.InstanceName)
	for _, is := range []string{clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition} {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: is, Status: metav1.ConditionTrue, Reason: is,
			LastTransitionTime: metav1.Now()})
	}
	if err := p.client.Status().Update(p.t.Context(), m); err != nil {
		p.t.Fatal(err)
	}
}

// hold pauses the pool or resumes it, and waits until its condition shows that.
func (p *pool) hold(on bool) {
	p.t.Helper()
	p.change(p.azure, func() {
		if delete(p.azure.Annotations, clusterv1.PausedAnnotation); on {
			metav1.SetMetaDataAnnotation(&p.azure.ObjectMeta, clusterv1.PausedAnnotation, "")
		}
	})
	p.eventually(p.azure, func() string {
		for _, c := range p.azure.Status.Conditions {
			if c.Type == clusterv1.PausedCondition && (c.Status == metav1.ConditionTrue) == on {
				return ""
			}
		}
		return "the pause is not seen"
	})
}

// scale sets the number of instances.
func (p *pool) scale(replicas int32) {
	p.t.Helper()
	p.change(p.machinePool, func() { p.machinePool.Spec.Replicas = &replicas })
}

// upgrade sets another Kubernetes version and waits until the pool has begun the upgrade.
func (p *pool) upgrade(to string) {
	p.t.Helper()
	p.change(p.machinePool, func() { p.machinePool.Spec.Template.Spec.Version = to })
	p.eventually(p.azure, func() string {
		if i := p.azure.Status.Image; i == nil || i.ComputeGallery == nil || "v"+i.ComputeGallery.Version != to {
			return "the image is not that of " + to
		}
		return ""
	})
}

// TestPoolAddresses checks that instances of both modes report their addresses.
func TestPoolAddresses(t *testing.T) {
	t.Parallel()
	for _, mode := range []infrav1.OrchestrationMode{infrav1.UniformOrchestrationMode, infrav1.FlexibleOrchestrationMode} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBed(t)
			b.provision()
			p := b.pool("workers", "Windows", mode, 2)
			seen := map[string]bool{}
			for _, m := range p.settled() {
				a := m.Status.Addresses
				if a[0].Type != clusterv1.MachineInternalDNS || a[0].Address != m.Status.InstanceName {
					t.Errorf("instance %s is called %+v", m.Status.InstanceName, a[0])
				}
				if a[1].Type != clusterv1.MachineInternalIP || !strings.HasPrefix(a[1].Address, "10.1.") || seen[a[1].Address] {
					t.Errorf("instance %s has address %+v", m.Status.InstanceName, a[1])
				}
				seen[a[1].Address] = true
			}
			b.delete(p.azure)
			b.gone(p.azure)
		})
	}
}
