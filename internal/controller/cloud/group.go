package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// ClusterOf returns the Cluster of an object, by the labels of the object's owner. An
// object that is being deleted may outlive its Cluster: then the result has only the name
// and namespace in the labels, which suffice to delete the object's resources.
func ClusterOf(ctx context.Context, c client.Client, o, owner client.Object) (*clusterv1.Cluster, error) {
	name, deleted := owner.GetLabels()[clusterv1.ClusterNameLabel], !o.GetDeletionTimestamp().IsZero()
	cluster := &clusterv1.Cluster{}
	err := c.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, cluster)
	switch {
	case err == nil && name != "":
		return cluster, nil
	case name != "" && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("get the Cluster of %s: %w", o.GetName(), err)
	case !deleted:
		return nil, fmt.Errorf("%s names no Cluster that exists in its label %s (%q)", owner.GetName(), clusterv1.ClusterNameLabel, name)
	}
	cluster = &clusterv1.Cluster{}
	cluster.Namespace, cluster.Name = owner.GetNamespace(), name
	var all infrav1.AzureClusterList
	if err := c.List(ctx, &all, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: name}); err != nil {
		return nil, fmt.Errorf("find the AzureCluster of %s: %w", o.GetName(), err)
	}
	for _, found := range all.Items {
		cluster.Spec.InfrastructureRef.Name = found.Name
	}
	return cluster, nil
}

// AzureClusterOf returns the AzureCluster of a Cluster, or nil.
func AzureClusterOf(ctx context.Context, c client.Client, cluster *clusterv1.Cluster) (*infrav1.AzureCluster, error) {
	found := &infrav1.AzureCluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}, found); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return found, nil
}

// GroupGoes reports whether the cluster is being deleted together with its own resource
// group and everything in it.
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
	return s.WholeGroup(ctx, group, live, cluster.Name, false)
}

// WholeGroup reports whether a resource group is the cluster's with everything in it, so that
// it can be deleted at one blow: nothing in it has another owner's mark. Who deletes the group
// asks for a fresh answer; otherwise what was put there within the last minute may be missing.
func (s *Session) WholeGroup(ctx context.Context, group string, live json.RawMessage, clusterName string, fresh bool) (bool, error) {
	tags, err := TagsOf(live)
	if err != nil {
		return false, fmt.Errorf("resource group %s: %w", desired.LastSegment(group), err)
	}
	if !s.Owns(ctx, tags, clusterName, true) {
		return false, nil
	}
	all, err := s.List(ctx, group+"/resources", fresh)
	if arm.ClassOf(err) == arm.Denied {
		return true, nil // the right to list is optional, and the group's own mark is the cluster's
	}
	if err != nil {
		return false, err
	}
	for _, raw := range all {
		tags, err := TagsOf(raw)
		if err != nil {
			return false, fmt.Errorf("resource group %s: %w", desired.LastSegment(group), err)
		}
		if mark := tags[desired.OwnerTag]; mark != "" && mark != s.owner.Mark.Value {
			return false, nil
		}
	}
	return true, nil
}

// TagsOf returns the tags of a resource in Azure.
func TagsOf(live json.RawMessage) (map[string]string, error) {
	if live == nil {
		return nil, nil
	}
	var body struct {
		Tags map[string]string `json:"tags"`
	}
	err := json.Unmarshal(live, &body)
	return body.Tags, err
}

// InGroup reports whether a resource is in the cluster's own resource group.
func InGroup(azureCluster *infrav1.AzureCluster, id string) bool {
	return strings.HasPrefix(strings.ToLower(id), strings.ToLower(desired.ClusterGroup(azureCluster).ID())+"/")
}
