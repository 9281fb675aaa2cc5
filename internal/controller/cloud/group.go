package cloud

import (
	"context"
	"encoding/json"
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

// KeepName writes a chosen name into an object's annotations, before anything in
// Azure bears it.
func KeepName(ctx context.Context, c client.Client, obj client.Object, name string) error {
	base := obj.DeepCopyObject().(client.Object)
	updated := obj.DeepCopyObject().(client.Object)
	annotations := updated.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[NameAnnotation] = name
	updated.SetAnnotations(annotations)
	if err := c.Patch(ctx, updated, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("keep the name %s of %s: %w", name, obj.GetName(), err)
	}
	obj.SetAnnotations(annotations)
	return nil
}

// Before orders objects by age and, of the same second, by name.
func Before(a, b client.Object) bool {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.GetNamespace()+"/"+a.GetName() < b.GetNamespace()+"/"+b.GetName()
}

// Neighbours are the clusters that keep their machines in the same resource group,
// c included, by namespace and name of the Cluster.
func Neighbours(ctx context.Context, reader client.Reader, c *infrav1.AzureCluster) (map[client.ObjectKey]bool, error) {
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

// GroupGoes says whether the cluster is being deleted and its resource group is
// the cluster's own, which then takes everything in it along.
func (s *Session) GroupGoes(ctx context.Context, cluster *clusterv1.Cluster, azureCluster *infrav1.AzureCluster) (bool, error) {
	if cluster.DeletionTimestamp.IsZero() {
		return false, nil
	}
	group := desired.ClusterGroup(azureCluster).ID()
	live, err := s.Live(ctx, group)
	if err != nil {
		return false, err
	}
	if live == nil {
		return true, nil
	}
	var body struct {
		Tags map[string]string `json:"tags"`
	}
	if err := json.Unmarshal(live, &body); err != nil {
		return false, fmt.Errorf("resource group %s: %w", desired.LastSegment(group), err)
	}
	return desired.IsOwned(body.Tags, cluster.Name), nil
}
