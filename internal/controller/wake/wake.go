// Package wake triggers a pass over an object when one of its inputs changes: it has one table of the inputs that all
// kinds of a cluster share, with their watches, so that none is missing for a kind. It decides nothing about an object
// and only reads references. The controllers and package manager import it.
//
// An object of a cluster depends on
//
//	Cluster               that it exists, its spec and annotations, whether its network exists
//	AzureCluster          that it exists; its spec and status while the object waits
//	AzureClusterIdentity  that it exists, its spec, labels and annotations
//	Secret                of the identity's credentials, its data and annotations
//	Namespace             its labels, by which spec.allowedNamespaces selects
//
// Each may be created, changed, deleted and created again in any order.
package wake

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/controller/record"
	"casement.dev/casement/internal/grant"
)

// field is the index of objects by ClusterOf.
const field = "casement.cluster"

// Index adds the index that Inputs uses, for the kinds whose controllers have Inputs.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{&infrav1.AzureMachine{}, &infrav1.AzureMachinePool{}, &infrav1.AzureMachineTemplate{}} {
		if err := indexer.IndexField(ctx, kind, field, func(o client.Object) []string { return []string{ClusterOf(o)} }); err != nil {
			return err
		}
	}
	return nil
}

// Inputs are the inputs of one kind, which Index has to index.
type Inputs struct {
	Client client.Client
	// List is an empty list of the kind.
	List client.ObjectList
	// Settled reports whether no update of the AzureCluster's status can be relevant to an object; nil means never. An
	// AzureCluster's status is written often while the cluster is created.
	Settled func(client.Object) bool
}

// Watch adds the watches of all inputs to a controller.
func (i Inputs) Watch(b *builder.Builder) *builder.Builder {
	b.Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return i.of(ctx, o.GetNamespace(), o.GetName(), false)
	}), builder.WithPredicates(ofCluster()))
	b.Watches(&infrav1.AzureCluster{}, handler.EnqueueRequestsFromMapFunc(i.ofAzureCluster(false)), record.Asked())
	b.Watches(&infrav1.AzureCluster{}, handler.EnqueueRequestsFromMapFunc(i.ofAzureCluster(true)), builder.WithPredicates(ofStatus()))
	return Credentials(b, i.Client, i.ofAzureCluster(false))
}

// Credentials adds watches of the objects that a cluster's credentials depend on. of returns the requests
// for an AzureCluster whose credentials may have changed.
func Credentials(b *builder.Builder, c client.Client, of handler.MapFunc) *builder.Builder {
	m := credentials{client: c, of: of}
	b.Watches(&infrav1.AzureClusterIdentity{}, handler.EnqueueRequestsFromMapFunc(m.ofIdentity), builder.WithPredicates(predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			// Each cluster adds a finalizer, which is not relevant to any object.
			was, is := e.ObjectOld, e.ObjectNew
			return was.GetGeneration() != is.GetGeneration() || !maps.Equal(was.GetLabels(), is.GetLabels()) ||
				!maps.Equal(was.GetAnnotations(), is.GetAnnotations()) || !was.GetDeletionTimestamp().Equal(is.GetDeletionTimestamp())
		},
	}))
	b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(m.ofSecret))
	return b.Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(m.ofNamespace),
		builder.WithPredicates(predicate.LabelChangedPredicate{}))
}

// ofCluster selects the events of a Cluster that are relevant to its objects. Cluster API writes the rest of its status often.
func ofCluster() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*clusterv1.Cluster)
		is, also := e.ObjectNew.(*clusterv1.Cluster)
		return !ok || !also || record.Changed(was, is) || provisioned(was) != provisioned(is)
	}}
}

func provisioned(c *clusterv1.Cluster) bool {
	p := c.Status.Initialization.InfrastructureProvisioned
	return p != nil && *p
}

// ofStatus selects updates of an object in which only its status changed.
func ofStatus() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return !record.Changed(e.ObjectOld, e.ObjectNew) },
	}
}

// ofAzureCluster returns a function that returns the requests for an AzureCluster's objects; if status is true, only
// for objects that are not settled.
func (i Inputs) ofAzureCluster(status bool) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		name := ClusterOf(o)
		if name == "" {
			return nil
		}
		return i.of(ctx, o.GetNamespace(), name, status)
	}
}

// of returns the requests for the objects of a cluster.
func (i Inputs) of(ctx context.Context, namespace, cluster string, unsettled bool) []reconcile.Request {
	all, ok := i.List.DeepCopyObject().(client.ObjectList)
	if !ok {
		return nil
	}
	in := []client.ListOption{client.InNamespace(namespace), client.MatchingFields{field: cluster}, client.UnsafeDisableDeepCopy}
	if err := i.Client.List(ctx, all, in...); err != nil {
		return nil
	}
	var requests []reconcile.Request
	_ = apimeta.EachListItem(all, func(item runtime.Object) error {
		o, ok := item.(client.Object)
		if ok && (!unsettled || i.Settled == nil || !i.Settled(o)) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		return nil
	})
	return requests
}

// ClusterOf returns the name of the Cluster that an object belongs to, by its label or, for a template, which has no
// label, by its owner; "" if there is neither.
func ClusterOf(o client.Object) string {
	if name := o.GetLabels()[clusterv1.ClusterNameLabel]; name != "" {
		return name
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			return ref.Name
		}
	}
	return ""
}

// Pending reports whether an object with conditions may wait for another object: it is being deleted, is not Ready, or
// cannot be compared with Azure.
func Pending(o conditions.Getter) bool {
	meta, ok := o.(client.Object)
	return ok && !meta.GetDeletionTimestamp().IsZero() || !conditions.IsTrue(o, clusterv1.ReadyCondition) ||
		conditions.Has(o, infrav1.SyncedCondition) && !conditions.IsTrue(o, infrav1.SyncedCondition)
}

// credentials finds the AzureClusters whose credentials come from an object.
type credentials struct {
	client client.Client
	of     handler.MapFunc
}

func (m credentials) ofIdentity(ctx context.Context, identity client.Object) []reconcile.Request {
	return m.where(ctx, func(c *infrav1.AzureCluster) bool {
		return credential.Key(c) == client.ObjectKeyFromObject(identity)
	})
}

func (m credentials) ofNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return m.where(ctx, func(*infrav1.AzureCluster) bool { return true }, client.InNamespace(namespace.GetName()))
}

func (m credentials) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	var all infrav1.AzureClusterIdentityList
	if err := m.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if grant.SecretOf(&all.Items[i]) == client.ObjectKeyFromObject(secret) {
			requests = append(requests, m.ofIdentity(ctx, &all.Items[i])...)
		}
	}
	return requests
}

func (m credentials) where(ctx context.Context, match func(*infrav1.AzureCluster) bool, options ...client.ListOption) []reconcile.Request {
	var all infrav1.AzureClusterList
	if err := m.client.List(ctx, &all, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if match(&all.Items[i]) {
			requests = append(requests, m.of(ctx, &all.Items[i])...)
		}
	}
	return requests
}
