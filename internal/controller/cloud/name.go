package cloud

import (
	"context"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
)

// NameAnnotation holds the name of a machine or scale set that could not have the
// usual one, so that it keeps its name when the one that has it goes away.
const NameAnnotation = "infrastructure.cluster.x-k8s.io/computer-name"

// keepName writes a chosen name into an object's annotations, before anything in
// Azure bears it.
func keepName(ctx context.Context, c client.Client, obj client.Object, name string) error {
	return keep(ctx, c, obj, NameAnnotation, name)
}

// keep writes an annotation of an object at once.
func keep(ctx context.Context, c client.Client, obj client.Object, annotation, name string) error {
	base := obj.DeepCopyObject().(client.Object)
	updated := obj.DeepCopyObject().(client.Object)
	annotations := updated.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = name
	updated.SetAnnotations(annotations)
	if err := c.Patch(ctx, updated, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("keep the name %s of %s: %w", name, obj.GetName(), err)
	}
	obj.SetAnnotations(annotations)
	return nil
}

// before orders objects by age and, of the same second, by name.
func before(a, b client.Object) bool {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.GetNamespace()+"/"+a.GetName() < b.GetNamespace()+"/"+b.GetName()
}

// Naming is how objects of one kind get the name that they have in Azure.
type Naming[T client.Object] struct {
	// Given is the name that an object has for good, and "" while none is fixed.
	Given func(T) string
	// Usual is the name that it has when no other one stands in its way.
	Usual func(T) string
	// Other makes a name that is not taken of the object's own.
	Other func(objectName string, taken func(name string) bool) string
}

// Choose decides on the name of an object that has none for good, among all of its kind
// that keep their machines in the same resource group: of two new ones that would share
// a name the older one has it, and the other keeps what it gets instead.
func (n Naming[T]) Choose(ctx context.Context, c client.Client, azureCluster *infrav1.AzureCluster, obj T, all []T) (string, error) {
	neighbours, err := neighbours(ctx, c, azureCluster)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, other := range all {
		if other.GetUID() == obj.GetUID() || !neighbours[client.ObjectKey{Namespace: other.GetNamespace(), Name: other.GetLabels()[clusterv1.ClusterNameLabel]}] {
			continue
		}
		if name := n.Given(other); name != "" {
			taken[strings.ToLower(name)] = true
		} else if before(other, obj) {
			taken[strings.ToLower(n.Usual(other))] = true
		}
	}
	name := n.Usual(obj)
	if !taken[strings.ToLower(name)] {
		return name, nil
	}
	name = n.Other(obj.GetName(), func(name string) bool { return taken[strings.ToLower(name)] })
	return name, keepName(ctx, c, obj, name)
}

// neighbours are the clusters that keep their machines in the same resource group, the
// given one included, by namespace and name of the Cluster.
func neighbours(ctx context.Context, reader client.Reader, c *infrav1.AzureCluster) (map[client.ObjectKey]bool, error) {
	var all infrav1.AzureClusterList
	if err := reader.List(ctx, &all); err != nil {
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
