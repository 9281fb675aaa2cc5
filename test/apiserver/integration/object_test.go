package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/kuberelease"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	tenant       = "00000000-0000-0000-0000-0000000000ff"
	location     = "westeurope"
	vmSize       = "Standard_D2s_v3"
	version      = kuberelease.Default

	// patience limits a wait on a slow machine; a passing test usually needs far less.
	patience = 4 * time.Minute
	// often is the interval between two polls of a wait. It is not shorter, because each poll is a
	// request and a busy machine waits long.
	often = 50 * time.Millisecond
)

// bed contains the objects of one cluster in its own namespace. The test acts as Cluster API's own
// controllers.
type bed struct {
	*world
	t         *testing.T
	namespace string
	name      string
	cluster   *clusterv1.Cluster
	azureC    *infrav1.AzureCluster
}

// newBed creates the namespace with an identity and its secret, and the cluster's objects except
// the AzureCluster.
func newBed(t *testing.T) *bed {
	t.Helper()
	return newBedIn(t, nil)
}

// newBedIn is newBed with labels for the namespace.
func newBedIn(t *testing.T, labels map[string]string) *bed {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(t.Name(), "Test")))
	name = strings.Trim(name[:min(len(name), 40)], "-")
	b := &bed{world: shared, t: t, namespace: name, name: name}
	b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	b.azure.Admit(azuresim.Client{ID: "client-" + name, Secret: "good"}) // a separate client has a separate cache
	b.create(&corev1.Secret{ObjectMeta: b.meta("sp"), Data: map[string][]byte{"clientSecret": []byte("good")}})
	b.create(&infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity"), Spec: infrav1.AzureClusterIdentitySpec{
		Type: infrav1.ServicePrincipal, ClientID: "client-" + name, TenantID: tenant,
		ClientSecret:      corev1.SecretReference{Name: "sp", Namespace: name},
		AllowedNamespaces: &infrav1.AllowedNamespaces{},
	}})
	b.cluster = &clusterv1.Cluster{ObjectMeta: b.meta(name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "AzureCluster", Name: name,
		},
	}}
	b.create(b.cluster)
	b.azureC = &infrav1.AzureCluster{ObjectMeta: b.owned(name, "Cluster", b.cluster)}
	b.azureC.Spec.Location, b.azureC.Spec.SubscriptionID = location, subscription
	b.azureC.Spec.IdentityRef = &corev1.ObjectReference{Kind: "AzureClusterIdentity", Name: "identity"}
	b.azureC.Spec.ControlPlaneEnabled = true
	return b
}

// provision creates the AzureCluster and then sets the Cluster's fields as Cluster API does.
func (b *bed) provision() {
	b.t.Helper()
	b.create(b.azureC)
	b.eventually(b.azureC, func() string {
		if p := b.azureC.Status.Initialization.Provisioned; p == nil || !*p {
			return "not provisioned"
		}
		return ""
	})
	b.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := b.client.Status().Update(b.t.Context(), b.cluster); err != nil {
		b.t.Fatal(err)
	}
}

// machine creates a Machine with its bootstrap data. It returns the AzureMachine of the Machine
// without creating it.
func (b *bed) machine(name, os string, controlPlane bool) *infrav1.AzureMachine {
	b.t.Helper()
	labels := map[string]string{clusterv1.ClusterNameLabel: b.name}
	if controlPlane {
		labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	meta := b.meta(name)
	meta.Labels = labels
	b.create(&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"value": []byte(goodBootstrapData)}})
	m := &clusterv1.Machine{ObjectMeta: meta, Spec: clusterv1.MachineSpec{
		ClusterName: b.name, Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: &meta.Name},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "AzureMachine", Name: name,
		},
	}}
	b.create(m)
	am := &infrav1.AzureMachine{ObjectMeta: b.owned(name, "Machine", m)}
	am.Labels = labels
	am.Annotations = map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "template"}
	am.Spec.VMSize = vmSize
	am.Spec.OSDisk = infrav1.OSDisk{OSType: os, DiskSizeGB: new(int32(128))}
	return am
}

const goodBootstrapData = "## template: jinja\n#cloud-config\n\nruncmd:\n  - kubeadm join\n"

// running waits for a machine to be provisioned.
func (b *bed) running(m *infrav1.AzureMachine) {
	b.t.Helper()
	b.eventually(m, func() string {
		if p := m.Status.Initialization.Provisioned; p == nil || !*p || m.Spec.ProviderID == nil {
			return "not provisioned"
		}
		return ""
	})
}

func (b *bed) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: b.namespace, Name: name}
}

func (b *bed) owned(name, kind string, owner client.Object) metav1.ObjectMeta {
	meta := b.meta(name)
	meta.Labels = map[string]string{clusterv1.ClusterNameLabel: b.name}
	meta.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID()},
	}
	return meta
}

// create creates an object; it retries while the webhook server starts.
func (b *bed) create(o client.Object) {
	b.t.Helper()
	err := wait.PollUntilContextTimeout(b.t.Context(), often, patience, true, func(ctx context.Context) (bool, error) {
		err := b.client.Create(ctx, o)
		if apierrors.IsInternalError(err) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		b.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// change applies f to the newest version of an object and writes it.
func (b *bed) change(o client.Object, f func()) {
	b.t.Helper()
	b.get(o)
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		b.t.Fatalf("%T is no object", o)
	}
	f()
	if err := b.client.Patch(b.t.Context(), o, client.MergeFrom(before)); err != nil {
		b.t.Fatalf("change %T %s: %v", o, o.GetName(), err)
	}
}

func (b *bed) get(o client.Object) {
	b.t.Helper()
	if err := b.read(b.t.Context(), o); err != nil {
		b.t.Fatalf("get %T %s: %v", o, o.GetName(), err)
	}
}

// read reads an object into a zeroed value, because decoding into an old value would keep fields
// that were removed.
func (b *bed) read(ctx context.Context, o client.Object) error {
	key := client.ObjectKeyFromObject(o)
	reflect.ValueOf(o).Elem().SetZero()
	err := b.client.Get(ctx, key, o)
	o.SetNamespace(key.Namespace)
	o.SetName(key.Name)
	return err
}

// eventually reads o until f returns "". f returns its objection otherwise.
func (b *bed) eventually(o conditionsObject, f func() string) {
	b.t.Helper()
	objection, last := "", ""
	err := wait.PollUntilContextTimeout(b.t.Context(), often, patience, true, func(ctx context.Context) (bool, error) {
		if err := b.read(ctx, o); err != nil {
			return false, err
		}
		objection, last = f(), show(o)
		return objection == "", nil
	})
	if err != nil {
		b.t.Fatalf("%T %s: %s (%v); conditions:\n%s", o, o.GetName(), objection, err, last)
	}
}

// gone waits until an object does not exist.
func (b *bed) gone(o conditionsObject) {
	b.t.Helper()
	err := wait.PollUntilContextTimeout(b.t.Context(), often, patience, true, func(ctx context.Context) (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		b.t.Fatalf("%T %s is still there: %v; conditions:\n%s", o, o.GetName(), err, show(o))
	}
}

func (b *bed) delete(o conditionsObject) {
	b.t.Helper()
	if err := b.client.Delete(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
}

// conditionsObject is an object with conditions.
type conditionsObject interface {
	client.Object
	conditions.Getter
}

func show(o conditionsObject) string {
	var out strings.Builder
	for _, c := range o.GetConditions() {
		fmt.Fprintf(&out, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return out.String()
}

// givenUp waits until a machine has failed terminally.
func (b *bed) givenUp(m *infrav1.AzureMachine, reason string) {
	b.t.Helper()
	b.eventually(m, func() string {
		if m.Status.FailureReason == nil || *m.Status.FailureReason != reason {
			return "not given up for " + reason
		}
		return ""
	})
}

// group returns the cluster's resource group.
func (b *bed) group() desired.Group { return desired.Group{Subscription: subscription, Name: b.name} }

// put writes to Azure without the manager and waits until the operation ends.
func (b *bed) put(id, body string) {
	b.t.Helper()
	result, err := b.azure.client.Put(b.t.Context(), id, desired.APIVersion(arm.TypeOf(id)), json.RawMessage(body))
	b.finish(id, result, err)
}

// remove deletes from Azure without the manager and waits until the operation ends.
func (b *bed) remove(id string) {
	b.t.Helper()
	result, err := b.azure.client.Delete(b.t.Context(), id, desired.APIVersion(arm.TypeOf(id)))
	b.finish(id, result, err)
}

func (b *bed) finish(id string, result arm.Result, err error) {
	b.t.Helper()
	for err == nil && result.Operation != nil {
		token := result.Operation.Token
		err = wait.PollUntilContextTimeout(b.t.Context(), often, patience, true, func(ctx context.Context) (bool, error) {
			var err error
			result, err = b.azure.client.Poll(ctx, token)
			return result.Operation == nil, err
		})
	}
	if err != nil {
		b.t.Fatalf("%s: %v", id, err)
	}
}

// exists reports whether Azure has a resource.
func (b *bed) exists(id string) bool {
	b.t.Helper()
	_, err := b.azure.client.Get(b.t.Context(), id, desired.APIVersion(arm.TypeOf(id)))
	if err != nil && arm.ClassOf(err) != arm.NotFound {
		b.t.Fatal(err)
	}
	return err == nil
}
