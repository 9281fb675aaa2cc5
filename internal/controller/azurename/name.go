// Package azurename chooses the names that machines and pools have in Azure, where several objects in a resource group
// may have the same usual name.
//
// It creates nothing in Azure. The controllers of machines and pools import it.
package azurename

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/record"
)

// Annotation has the name of a machine or scale set that could not get its usual name. With it, the object keeps the
// name even when the object with the usual name is deleted.
const Annotation = "infrastructure.cluster.x-k8s.io/computer-name"

// Naming describes how objects of one kind get their names in Azure.
type Naming[T client.Object] struct {
	// ProviderID returns an object's provider ID, or "".
	ProviderID func(T) string
	// ID returns the ID of the resource with a name.
	ID func(c *infrav1.AzureCluster, name string) string
	// Windows reports whether an object runs Windows, which limits the length of names.
	Windows func(T) bool
	// Short returns a short name that is derived from an object's name and for which taken returns false.
	Short func(objectName string, taken func(name string) bool) string
}

// given returns the name that an object never loses, or "" as long as none is fixed. It ignores an annotation whose
// value is not a valid name, because casement did not write it.
func (n Naming[T]) given(o T) string {
	for _, name := range []string{desired.LastSegment(n.ProviderID(o)), o.GetAnnotations()[Annotation]} {
		if arm.Nameable("/" + name) {
			return name
		}
	}
	return ""
}

// usual returns the name that an object gets if no other object has it.
func (n Naming[T]) usual(o T) string {
	if n.Windows(o) {
		return n.Short(o.GetName(), nil)
	}
	return o.GetName()
}

// recorded returns the name in an object's provider ID, if the ID is of a resource in the cluster's own group.
func (n Naming[T]) recorded(c *infrav1.AzureCluster, o T) string {
	id := n.ProviderID(o)
	if name := desired.LastSegment(id); arm.Nameable("/"+name) && strings.EqualFold(id, desired.ProviderID(n.ID(c, name))) {
		return name
	}
	return ""
}

// kept returns the name that an object got instead of its usual one, or "".
func (n Naming[T]) kept(o T) string {
	if name := o.GetAnnotations()[Annotation]; arm.Nameable("/" + name) {
		return name
	}
	return ""
}

// Choose chooses the name of an object. A provider ID is not trusted, because users can edit it: it is accepted if it
// has the name that the object gets anyway, if owns reports that the resource of that name has the object's mark, or if
// no other object takes precedence for the name. refused is a provider ID that is not accepted, or "".
func (n Naming[T]) Choose(ctx context.Context, c client.Client, azureCluster *infrav1.AzureCluster, obj T,
	all client.ObjectList, owns func(context.Context, string) (bool, error)) (name, refused string, err error) {
	recorded := n.recorded(azureCluster, obj)
	if recorded != "" && (strings.EqualFold(recorded, n.kept(obj)) || n.kept(obj) == "" && strings.EqualFold(recorded, n.usual(obj))) {
		return recorded, "", nil
	}
	if recorded != "" {
		mine, err := owns(ctx, recorded)
		if err != nil || mine {
			return recorded, "", err
		}
	}
	name, err = n.free(ctx, c, azureCluster, obj, all)
	return name, n.ProviderID(obj), err
}

// Bind chooses the name of an object of a kind and returns it with the session for the object's resources.
// refused is as in Choose.
func (n Naming[T]) Bind(ctx context.Context, c client.Client, s *cloud.Session, azureCluster *infrav1.AzureCluster,
	clusterName, kind string,
	obj T, all func() client.ObjectList) (name, refused string, bound *cloud.Session, err error) {
	of := func(name string) *cloud.Session {
		return s.For(kind, obj.GetName(), func(ctx context.Context) bool {
			rightful, err := n.Rightful(ctx, c, azureCluster, obj, all(), name)
			return rightful && err == nil
		})
	}
	name, refused, err = n.Choose(ctx, c, azureCluster, obj, all(), func(ctx context.Context, name string) (bool, error) {
		live, err := s.Live(ctx, n.ID(azureCluster, name))
		if err != nil {
			return false, err
		}
		if live == nil {
			return n.Rightful(ctx, c, azureCluster, obj, all(), name)
		}
		return !of(name).Foreign(ctx, live, clusterName, false), nil
	})
	return name, refused, of(name), err
}

// Rightful reports whether no other object in the resource group takes precedence for a name, because it has the name
// or had it before.
func (n Naming[T]) Rightful(ctx context.Context, c client.Client, azureCluster *infrav1.AzureCluster, obj T,
	all client.ObjectList, name string) (bool, error) {
	if !n.Windows(obj) && strings.EqualFold(name, obj.GetName()) {
		return true, nil
	}
	neighbours, err := neighbours(ctx, c, azureCluster)
	if err != nil {
		return false, err
	}
	found := false
	err = n.others(ctx, c, name, obj, all, neighbours, func(other T) {
		found = found || record.Older(other, obj) || strings.EqualFold(n.usual(other), name) && !strings.EqualFold(n.usual(obj), name)
	})
	return !found, err
}

// free chooses the name of an object by its own name and annotation. Of two new objects in the same resource group with
// the same usual name, the older one gets it, and the other one gets and keeps another name. all is an empty list of
// the kind, which the client reads by Field.
func (n Naming[T]) free(ctx context.Context, c client.Client, azureCluster *infrav1.AzureCluster, obj T,
	all client.ObjectList) (string, error) {
	if name := n.kept(obj); name != "" || !n.Windows(obj) {
		return cmp.Or(name, obj.GetName()), nil
	}
	neighbours, err := neighbours(ctx, c, azureCluster)
	if err != nil {
		return "", err
	}
	taken := func(name string) bool {
		other, listErr := n.taken(ctx, c, name, obj, all, neighbours)
		err = errors.Join(err, listErr)
		return other
	}
	name := n.Short(obj.GetName(), taken)
	if err != nil || name == n.usual(obj) {
		return name, err
	}
	return name, record.Annotate(ctx, c, obj, Annotation, name)
}

// Field is the index of objects by the names that they have or may get.
const Field = "azureName"

// Index is a client.IndexerFunc for Field.
func (n Naming[T]) Index(obj client.Object) []string {
	o, ok := obj.(T)
	if !ok {
		return nil
	}
	return []string{strings.ToLower(cmp.Or(n.given(o), n.usual(o)))}
}

// taken reports whether another object in the resource group has a name, or may get it and takes precedence over obj.
func (n Naming[T]) taken(ctx context.Context, c client.Client, name string, obj T, all client.ObjectList,
	neighbours map[client.ObjectKey]bool) (bool, error) {
	found := false
	err := n.others(ctx, c, name, obj, all, neighbours, func(other T) {
		found = found || n.given(other) != "" || record.Older(other, obj)
	})
	return found, err
}

// others calls f for the other objects in the resource group that have or may get a name.
func (n Naming[T]) others(ctx context.Context, c client.Client, name string, obj T, all client.ObjectList,
	neighbours map[client.ObjectKey]bool, f func(T)) error {
	if err := c.List(ctx, all, client.MatchingFields{Field: strings.ToLower(name)}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	return meta.EachListItem(all, func(item runtime.Object) error {
		other := item.(T)
		key := client.ObjectKey{Namespace: other.GetNamespace(), Name: other.GetLabels()[clusterv1.ClusterNameLabel]}
		if other.GetUID() != obj.GetUID() && neighbours[key] {
			f(other)
		}
		return nil
	})
}

// neighbours returns the clusters whose machines are in the same resource group, including c, by namespace and name of
// the Cluster.
func neighbours(ctx context.Context, reader client.Reader, c *infrav1.AzureCluster) (map[client.ObjectKey]bool, error) {
	var all infrav1.AzureClusterList
	if err := reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	keys := map[client.ObjectKey]bool{}
	for i := range all.Items {
		other := &all.Items[i]
		if strings.EqualFold(desired.ClusterGroup(other).ID(), desired.ClusterGroup(c).ID()) {
			keys[client.ObjectKey{Namespace: other.Namespace, Name: other.Labels[clusterv1.ClusterNameLabel]}] = true
		}
	}
	return keys, nil
}
