package integration

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// clusterInput is an object or a setting that all kinds of a cluster wait for.
type clusterInput struct {
	name string
	// take removes the input and returns a function that restores it.
	take func(*bed) func()
}

// clusterInputs lists the inputs that AzureClusters, AzureMachines, AzureMachinePools,
// AzureMachineTemplates and the azure.json of each wait for.
var clusterInputs = []clusterInput{
	{"identity", func(b *bed) func() { return b.lend(&infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity")}) }},
	{"secret of the identity", func(b *bed) func() { return b.lend(&corev1.Secret{ObjectMeta: b.meta("sp")}) }},
	{"allowed namespaces", func(b *bed) func() {
		i := &infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity")}
		b.change(i, func() { i.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{NamespaceList: []string{"elsewhere"}} })
		return func() { b.change(i, func() { i.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{} }) }
	}},
	{"label of the namespace", func(b *bed) func() {
		i := &infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity")}
		b.change(i, func() {
			i.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "a"}}}
		})
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
		return func() { b.change(namespace, func() { metav1.SetMetaDataLabel(&namespace.ObjectMeta, "tenant", "a") }) }
	}},
	{"pause of the Cluster", func(b *bed) func() {
		b.change(b.cluster, func() { b.cluster.Spec.Paused = new(true) })
		return func() { b.change(b.cluster, func() { b.cluster.Spec.Paused = nil }) }
	}},
	{"bootstrap data", func(b *bed) func() { return nil }}, // the machine's bootstrap data, see build
}

// lend removes an object and returns a function that creates it again.
func (b *bed) lend(o client.Object) func() {
	b.t.Helper()
	b.get(o)
	again, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		b.t.Fatalf("%T is no object", o)
	}
	again.SetResourceVersion("")
	again.SetUID("")
	again.SetFinalizers(nil)
	b.lose(o)
	return func() { b.create(again) }
}

// built contains the objects of a cluster that wait for its inputs.
type built struct {
	*bed
	machine  *infrav1.AzureMachine
	pool     *pool
	template *infrav1.AzureMachineTemplate
}

// build creates one object of each kind. bring is the function that restores a missing input; if it
// is nil, the objects' bootstrap data is missing. build returns the function that restores the
// missing input.
func (b *bed) build(bring func()) (*built, func()) {
	b.t.Helper()
	w := &built{bed: b, machine: b.machine("single", "Linux", false)}
	if bring == nil {
		bring = b.lend(&corev1.Secret{ObjectMeta: b.meta("single")})
	}
	delete(w.machine.Annotations, clusterv1.TemplateClonedFromNameAnnotation) // so that it has an azure.json of its own
	b.create(w.machine)
	w.pool = b.pool("pool", "Linux", infrav1.UniformOrchestrationMode, 1)
	w.template = &infrav1.AzureMachineTemplate{ObjectMeta: b.owned("template", "Cluster", b.cluster)}
	w.template.Labels = nil // Cluster API sets only the owner
	w.template.Spec.Template.Spec.VMSize = vmSize
	w.template.Spec.Template.Spec.OSDisk = infrav1.OSDisk{OSType: "Linux", DiskSizeGB: new(int32(128))}
	b.create(w.template)
	return w, bring
}

// complete waits, while the test acts as Cluster API, until every object is in the state that its
// spec describes.
func (b *built) complete() {
	b.t.Helper()
	missing := map[string]bool{}
	err := wait.PollUntilContextTimeout(b.t.Context(), often, patience, true, func(ctx context.Context) (bool, error) {
		clear(missing)
		for _, o := range []client.Object{b.azureC, b.machine, b.pool.azure, b.template} {
			if err := b.read(ctx, o); err != nil {
				return false, err
			}
		}
		if p := b.azureC.Status.Initialization.Provisioned; p != nil && *p && b.cluster.Status.Initialization.InfrastructureProvisioned == nil {
			b.get(b.cluster)
			b.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
			if err := b.client.Status().Update(ctx, b.cluster); err != nil {
				return false, nil // the test changed the object meanwhile
			}
		}
		b.pool.play()
		missing["AzureCluster is not Ready"] = !conditions.IsTrue(b.azureC, clusterv1.ReadyCondition)
		missing["AzureMachine has no virtual machine"] = b.machine.Spec.ProviderID == nil ||
			!conditions.IsTrue(b.machine, infrav1.VMRunningCondition)
		missing["AzureMachinePool has no scale set"] = b.pool.azure.Spec.ProviderID == ""
		missing["AzureMachineTemplate has no capacity"] = len(b.template.Status.Capacity) == 0
		for _, of := range []string{"single", "pool", "template"} {
			secret := &corev1.Secret{ObjectMeta: b.meta(of + "-azure-json")}
			missing["no azure.json of "+of] = b.client.Get(ctx, client.ObjectKeyFromObject(secret), secret) != nil
		}
		maps.DeleteFunc(missing, func(_ string, is bool) bool { return !is })
		return len(missing) == 0, nil
	})
	if err != nil {
		b.t.Fatalf("%v: %v\nAzureCluster\n%sAzureMachine\n%sAzureMachinePool\n%s", err, missing,
			show(b.azureC), show(b.machine), show(b.pool.azure))
	}
}

// waiting waits until the machine has had a reconcile that could not finish, so that a later event
// has to trigger the next one.
func (b *built) waiting() {
	b.t.Helper()
	b.eventually(b.machine, func() string {
		if conditions.IsTrue(b.machine, clusterv1.PausedCondition) || conditions.IsFalse(b.machine, clusterv1.ReadyCondition) {
			return ""
		}
		return "nothing is said"
	})
}

// TestInputs removes each input of the table and restores it as the last one, before the cluster
// exists and when its network exists. The resync interval is longer than the test waits.
func TestInputs(t *testing.T) {
	if shared.options.Resync <= patience {
		t.Fatalf("the resync of %v would do what a watch has to", shared.options.Resync)
	}
	for _, input := range clusterInputs {
		t.Run("first "+input.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			bring := input.take(b)
			b.create(b.azureC)
			w, bring := b.build(bring)
			w.waiting()
			bring()
			w.complete()
		})
		t.Run("later "+input.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.provision()
			bring := input.take(b)
			w, bring := b.build(bring)
			w.waiting()
			bring()
			w.complete()
		})
	}
}

// TestInputsOfDone removes each input of a finished cluster and restores it. The cluster is as
// before, and its azure.json, which no spec contains, is written again.
func TestInputsOfDone(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(b.azureC)
	w, _ := b.build(func() {})
	w.complete()
	for _, of := range []string{"single", "pool", "template"} {
		if err := b.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: b.meta(of + "-azure-json")}); err != nil {
			t.Fatal(err)
		}
	}
	w.complete()
	for _, input := range clusterInputs {
		if bring := input.take(b); bring != nil {
			bring()
			w.complete()
		}
	}
}

// TestIdentityBeingDeleted checks that a cluster reports that its identity is being deleted,
// because such an identity accepts no finalizer, and continues when another identity with the same
// name exists.
func TestIdentityBeingDeleted(t *testing.T) {
	b := newBed(t)
	identity := &infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity")}
	b.change(identity, func() { identity.Finalizers = []string{"example.com/held"} })
	b.delete(identity)
	b.create(b.azureC)
	b.eventually(b.azureC, func() string {
		if conditions.GetReason(b.azureC, infrav1.NetworkInfrastructureReadyCondition) != "IdentityBeingDeleted" {
			return "it does not say that its identity is being deleted"
		}
		return ""
	})
	again := identity.DeepCopy()
	b.change(identity, func() { identity.Finalizers = nil })
	again.ObjectMeta = b.meta("identity")
	b.create(again)
	b.ready()
}
