package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/record"
)

// twin returns a bed with a Cluster of the same name in another namespace, PREFIX-NAMESPACE, and
// with a separate identity for the same application.
func (b *bed) twin(prefix string) *bed {
	b.t.Helper()
	t := &bed{world: b.world, t: b.t, namespace: prefix + "-" + b.namespace, name: b.name}
	t.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}})
	t.create(&corev1.Secret{ObjectMeta: t.meta("sp"), Data: map[string][]byte{"clientSecret": []byte("good")}})
	identity := &infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity")}
	b.get(identity)
	identity.ObjectMeta, identity.Spec.ClientSecret.Namespace = t.meta("identity"), t.namespace
	t.create(identity)
	t.restart(b.azureC.Spec, nil)
	return t
}

// restart creates the Cluster again, as a backup, a move or a copy would, and prepares a new
// AzureCluster without creating it.
func (b *bed) restart(spec infrav1.AzureClusterSpec, annotations map[string]string) {
	b.t.Helper()
	b.cluster = &clusterv1.Cluster{ObjectMeta: b.meta(b.name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "AzureCluster", Name: b.name,
		},
	}}
	b.create(b.cluster)
	b.azureC = &infrav1.AzureCluster{ObjectMeta: b.owned(b.name, "Cluster", b.cluster), Spec: spec}
	b.azureC.Annotations = annotations
}

// lose removes objects but not their Azure resources, as a move does.
func (b *bed) lose(objects ...client.Object) {
	b.t.Helper()
	for _, o := range objects {
		b.change(o, func() { o.SetFinalizers(nil) })
		if err := b.client.Delete(b.t.Context(), o); err != nil {
			b.t.Fatal(err)
		}
	}
}

// othersSaid waits until a cluster reports that its Azure resources belong to another cluster, and
// returns the message.
func (b *bed) othersSaid() string {
	b.t.Helper()
	b.eventually(b.azureC, func() string {
		if conditions.GetReason(b.azureC, infrav1.NetworkInfrastructureReadyCondition) != infrav1.OwnedByAnotherReason {
			return "it is not refused"
		}
		return ""
	})
	return conditions.GetMessage(b.azureC, infrav1.NetworkInfrastructureReadyCondition)
}

// ready waits until a cluster is Ready.
func (b *bed) ready() {
	b.t.Helper()
	b.eventually(b.azureC, func() string {
		if !conditions.IsTrue(b.azureC, clusterv1.ReadyCondition) {
			return "not ready"
		}
		return ""
	})
	b.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := b.client.Status().Update(b.t.Context(), b.cluster); err != nil {
		b.t.Fatal(err)
	}
}

// TestNamesake creates two clusters with the same name and resource group. The second cluster is
// refused, its message names the owner of the group, and it is deleted without a change to the
// resources of the first. The same is checked for a copy of the first cluster's YAML.
func TestNamesake(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.azureC.Annotations = map[string]string{infrav1.BootstrapSecretsAnnotation: infrav1.BootstrapSecretsInKeyVault}
	b.provision()
	m := b.machine("worker-0", "Linux", false)
	b.create(m)
	b.running(m)
	p := b.pool("pool", "Linux", infrav1.UniformOrchestrationMode, 1)
	p.settled()
	b.get(b.azureC)
	before := b.azure.left(b.name)

	for _, test := range []struct {
		name        string
		annotations map[string]string
	}{{"another", nil}, {"a copy", b.azureC.Annotations}} {
		t.Run(test.name, func(t *testing.T) {
			second := b.twin(strings.ReplaceAll(test.name, " ", "-"))
			second.t = t
			second.azureC.Annotations = maps.Clone(test.annotations)
			mark := b.azure.mark()
			second.create(second.azureC)
			if said := second.othersSaid(); !strings.Contains(said, "AzureCluster "+b.namespace+"/"+b.name) {
				t.Errorf("it does not say whose it is: %s", said)
			}
			// With the network reported as provisioned, the second cluster's machines reach their
			// own checks.
			second.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
			if err := b.client.Status().Update(t.Context(), second.cluster); err != nil {
				t.Fatal(err)
			}
			theirs := second.machine("worker-0", "Linux", false)
			theirs.Spec.ProviderID, theirs.Annotations = m.Spec.ProviderID, m.Annotations
			second.create(theirs)
			second.eventually(theirs, func() string {
				if conditions.GetReason(theirs, infrav1.VMRunningCondition) != infrav1.OwnedByAnotherReason {
					return "its machine is not refused"
				}
				return ""
			})
			second.delete(theirs)
			second.gone(theirs)
			second.delete(second.azureC)
			second.gone(second.azureC)
			if diff := cmp.Diff(map[string]int{}, b.azure.writes(mark, b.name)); diff != "" {
				t.Errorf("it wrote (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, b.azure.left(b.name)); diff != "" {
				t.Errorf("what the first one made (-want +got):\n%s", diff)
			}
		})
	}
	// A resource of another cluster in the group prevents the deletion of the group as a whole.
	foreign := b.group().Network("publicIPAddresses", "of-another")
	b.put(foreign, `{"location": "westeurope", "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"},
		"tags": {"casement_owner": "0123456789abcdef:elsewhere/another"}}`)
	b.delete(p.azure)
	b.delete(m)
	b.gone(p.azure)
	b.gone(m)
	b.delete(b.azureC)
	b.gone(b.azureC)
	if left := b.azure.left(b.name); len(left) != 2 || !b.exists(foreign) {
		t.Errorf("left in Azure: %v, want the group and another cluster's address", left)
	}
}

// TestGroupStays checks machines and pools that leave the deletion of their resources to the
// deletion of the group: their resources are deleted too if the group stays, because another owner
// has a resource in it.
func TestGroupStays(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.azureC.Annotations = map[string]string{infrav1.BootstrapSecretsAnnotation: infrav1.BootstrapSecretsInKeyVault}
	b.provision()
	var all []conditionsObject
	for i, os := range []string{"Linux", "Windows"} {
		m := b.machine(fmt.Sprintf("machine-%d", i), os, i == 0)
		m.Spec.AllocatePublicIP = i == 1
		m.Spec.DataDisks = []infrav1.DataDisk{{NameSuffix: "data", DiskSizeGB: 10, Lun: new(int32(0))}}
		b.create(m)
		b.running(m)
		all = append(all, m)
	}
	p := b.pool("pool", "Linux", infrav1.FlexibleOrchestrationMode, 1)
	p.settled()
	all = append(all, p.azure)

	b.change(b.cluster, func() { b.cluster.Finalizers = append(b.cluster.Finalizers, "test.casement.dev/held") })
	b.delete(b.cluster)
	mark := b.azure.mark()
	for _, o := range all {
		b.delete(o)
		b.gone(o)
	}
	if diff := cmp.Diff(map[string]int{}, b.azure.writes(mark, b.name)); diff != "" {
		t.Errorf("machines of a group that goes are deleted one by one (-want +got):\n%s", diff)
	}
	foreign := b.group().Network("publicIPAddresses", "of-another")
	b.put(foreign, `{"location": "westeurope", "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"},
		"tags": {"casement_owner": "0123456789abcdef:elsewhere/another"}}`)
	b.delete(b.azureC)
	b.gone(b.azureC)
	b.change(b.cluster, func() { b.cluster.Finalizers = nil })
	if left := b.azure.left(b.name); len(left) != 2 || !b.exists(foreign) {
		t.Errorf("left in Azure: %v, want the group and another cluster's address", left)
	}
}

// TestMoved checks that while a cluster is paused its ownership record can be handed over, and that
// objects that a move creates again continue with the existing resources. Objects from a backup
// report the step that the user must take first.
func TestMoved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		paused bool
	}{{"moved", true}, {"restored", false}} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.provision()
			m := b.machine("worker-0", "Windows", false)
			b.create(m)
			b.running(m)
			b.get(b.azureC)
			if _, blocked := b.azureC.Annotations[record.BlockMoveAnnotation]; !blocked {
				t.Error("a move would not wait for the record")
			}
			if test.paused {
				b.change(b.cluster, func() { b.cluster.Spec.Paused = new(true) })
				b.eventually(b.azureC, func() string {
					if _, blocked := b.azureC.Annotations[record.BlockMoveAnnotation]; blocked {
						return "a move waits"
					}
					return ""
				})
			}
			b.get(m)
			owner, annotations, machine := b.azureC.Annotations[infrav1.OwnerAnnotation], b.azureC.Annotations, m.DeepCopy()
			for _, o := range []client.Object{m, b.azureC} { // no controller works on these objects any more
				b.change(o, func() { o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""}) })
			}
			b.lose(m, b.azureC, &clusterv1.Machine{ObjectMeta: b.meta(m.Name)}, &corev1.Secret{ObjectMeta: b.meta(m.Name)}, b.cluster)

			mark := b.azure.mark()
			b.restart(b.azureC.Spec, annotations)
			b.azureC.Finalizers = []string{infrav1.ClusterFinalizer}
			b.create(b.azureC)
			m = b.machine("worker-0", "Windows", false)
			m.Spec, m.Finalizers = machine.Spec, machine.Finalizers
			b.create(m)
			if !test.paused {
				if said := b.othersSaid(); !strings.Contains(said, infrav1.TakeOverAnnotation+"="+owner) {
					t.Errorf("it does not say how to take it over: %s", said)
				}
				b.change(b.azureC, func() { b.azureC.Annotations[infrav1.TakeOverAnnotation] = owner })
			}
			b.ready()
			b.running(m)
			if b.azureC.Annotations[infrav1.OwnerAnnotation] != owner || b.azureC.Annotations[infrav1.TakeOverAnnotation] != "" {
				t.Errorf("annotations %v, want the owner %s", b.azureC.Annotations, owner)
			}
			if diff := cmp.Diff(map[string]int{}, b.azure.writes(mark, b.name)); diff != "" {
				t.Errorf("Azure was asked to change (-want +got):\n%s", diff)
			}
			// Resources with an owner are not taken over.
			second := b.twin("twin-of")
			second.azureC.Annotations = map[string]string{infrav1.TakeOverAnnotation: owner}
			second.create(second.azureC)
			if said := second.othersSaid(); !strings.Contains(said, "AzureCluster "+b.namespace+"/"+b.name+", which exists") {
				t.Errorf("it does not say who has it: %s", said)
			}
			second.delete(second.azureC)
			second.gone(second.azureC)
			b.delete(m)
			b.gone(m)
			b.delete(b.azureC)
			b.gone(b.azureC)
			if left := b.azure.left(b.name); len(left) > 0 {
				t.Errorf("left in Azure: %v", left)
			}
		})
	}
}

// TestClaimedOnce creates two clusters that find resources without an ownership mark, as older
// versions of casement create them. The older cluster claims the resources and the other is
// refused.
func TestClaimedOnce(t *testing.T) {
	b := newBed(t)
	unmarked := fmt.Sprintf(`{"location": "westeurope", "tags": {%q: "owned"}}`, desired.OwnershipTag(b.name))
	b.put(b.group().ID(), unmarked)
	b.put(b.group().Compute("availabilitySets", "of-before"), unmarked)
	b.change(b.cluster, func() { b.cluster.Spec.Paused = new(true) })
	b.create(b.azureC)
	second := b.twin("twin-of")
	second.create(second.azureC) // for two clusters of the same second the name decides
	second.othersSaid()
	b.change(b.cluster, func() { b.cluster.Spec.Paused = nil })
	b.ready()
	second.delete(second.azureC)
	second.gone(second.azureC)
	b.ready()
	if !b.exists(b.group().ID()) {
		t.Error("the younger one has deleted the group")
	}
	b.delete(b.azureC)
	b.gone(b.azureC)
}

// TestOwnMachine checks that deleting an object whose provider ID names another object's virtual
// machine, after an edit or in a copy, deletes nothing of that other object; the object's own
// resources are deleted.
func TestOwnMachine(t *testing.T) {
	t.Parallel()
	admitting(t, func(t *testing.T, labels map[string]string) {
		b := newBedIn(t, labels)
		b.sane(labels)
		b.provision()
		var all []*infrav1.AzureMachine
		for i, os := range []string{"Linux", "Linux", "Windows"} {
			m := b.machine(fmt.Sprintf("machine-of-long-name-%d", i), os, i == 0)
			b.saneMachine(labels, &m.Spec)
			b.create(m)
			b.running(m)
			all = append(all, m)
		}
		first := strings.TrimPrefix(*all[0].Spec.ProviderID, "azure://")
		mine := b.azure.left(b.name)
		edit := func(m *infrav1.AzureMachine, id string) error {
			b.get(m)
			before := m.DeepCopy()
			m.Spec.ProviderID = &id
			return b.client.Patch(t.Context(), m, client.MergeFrom(before))
		}
		if labels == nil {
			for _, id := range []string{*all[0].Spec.ProviderID, "", "azure:///subscriptions/x"} {
				if edit(all[1], id) == nil {
					t.Errorf("a provider ID can be changed to %q", id)
				}
			}
		} else {
			for i, id := range []string{*all[0].Spec.ProviderID, strings.Replace(*all[0].Spec.ProviderID, b.name, "elsewhere", 1)} {
				m := all[i+1]
				own := strings.TrimPrefix(*m.Spec.ProviderID, "azure://")
				if err := edit(m, id); err != nil {
					t.Fatal(err)
				}
				b.eventually(m, func() string {
					if !strings.Contains(show(m), "not this machine's") {
						return "nothing is said of the provider ID"
					}
					return ""
				})
				b.delete(m)
				b.gone(m)
				if b.exists(own) {
					t.Errorf("%s is left", own)
				}
			}
			all = all[:1]
		}
		now := b.azure.left(b.name)
		copied := b.machine("copied", "Linux", false)
		copied.Spec = *all[0].Spec.DeepCopy()
		copied.Annotations = maps.Clone(all[0].Annotations)
		b.create(copied)
		b.eventually(copied, func() string {
			if !strings.Contains(show(copied), "not this machine's") {
				return "nothing is said of the provider ID"
			}
			return ""
		})
		b.delete(copied)
		b.gone(copied)
		if diff := cmp.Diff(now, b.azure.left(b.name)); diff != "" || !b.exists(first) {
			t.Errorf("the copy was deleted (-before +after):\n%s", diff)
		}
		for _, m := range all {
			b.get(m)
			if m.Status.FailureReason != nil || m.Status.VMState == nil || *m.Status.VMState != infrav1.Succeeded {
				t.Errorf("%s: %s", m.Name, show(m))
			}
			if !slices.Contains(mine, strings.TrimPrefix(*m.Spec.ProviderID, "azure://")) {
				t.Errorf("%s is not of before", *m.Spec.ProviderID)
			}
		}
		for _, m := range all {
			b.delete(m)
			b.gone(m)
		}
		b.delete(b.azureC)
		b.gone(b.azureC)
		b.nothingLeft()
	})
}
