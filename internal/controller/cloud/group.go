package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// ClusterOf returns the Cluster of an object, by the labels of the object's owner. An object that is being deleted may
// outlive its Cluster: then the result has only the name and namespace from the labels, which are sufficient to delete
// the object's resources.
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

// GroupGoes reports whether the cluster is being deleted together with its own resource group and everything in it. The
// result is an expectation: if the group is not deleted after all, the controller of the AzureCluster finds the
// remaining resources by the cluster's mark (Left).
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

// WholeGroup reports whether a resource group, with everything in it, belongs to the cluster, so that one request can
// delete it: no resource in it has another owner's mark. Before a deletion, fresh has to be true; otherwise the result
// may ignore resources of the last minute.
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
		return true, nil // the permission to list is optional, and the group itself has the cluster's mark
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

// Left returns the resources to delete from a group that is not deleted as a whole: toDelete and the other resources in
// the group with the cluster's mark, in an order that respects their needs. Resources that use the network come before
// it, and resources that the network may use come after it. Child resources are deleted with their parents.
func (s *Session) Left(ctx context.Context, group string, toDelete []desired.Resource) ([]desired.Resource, error) {
	if s.owner.Mark.Value == "" {
		return toDelete, nil
	}
	all, err := s.List(ctx, group+"/resources", true)
	if arm.ClassOf(err) == arm.Denied {
		return toDelete, nil // all resources that could be left in the group are in toDelete
	}
	if err != nil {
		return nil, err
	}
	order := [][]desired.Resource{nil, nil, toDelete, nil}
	known := map[string]bool{}
	for _, r := range toDelete {
		known[arm.Key(r.ID)] = true
	}
	for _, raw := range all {
		var head struct {
			ID   string            `json:"id"`
			Tags map[string]string `json:"tags"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, fmt.Errorf("resource group %s: %w", desired.LastSegment(group), err)
		}
		kind := arm.TypeOf(head.ID)
		mine := head.Tags[s.owner.Mark.Key] == s.owner.Mark.Value && !known[arm.Key(head.ID)]
		if !mine || arm.ParentOf(head.ID) != "" || desired.APIVersion(kind) == "" {
			continue
		}
		at := desired.LeavesAt(kind)
		order[at] = append(order[at], desired.Resource{
			ID: head.ID, APIVersion: desired.APIVersion(kind), Policy: desired.CreateOnly,
			Body:      map[string]any{"tags": map[string]string{s.owner.Mark.Key: s.owner.Mark.Value}},
			Condition: infrav1.ResourceGroupReadyCondition, Field: "spec.resourceGroup",
		})
	}
	var out []desired.Resource
	var needs []string
	for _, resources := range slices.Backward(order) {
		later := needs
		for _, r := range resources {
			r.Needs = append(slices.Clone(r.Needs), later...)
			out, needs = append(out, r), append(needs, r.ID)
		}
	}
	return out, nil
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

// InGroup reports whether a resource is in the cluster's own resource group, so that the deletion of the group may
// include it. A role assignment whose scope is the group itself is not included: it has no mark by which Left finds it.
func InGroup(azureCluster *infrav1.AzureCluster, id string) bool {
	group := arm.Key(desired.ClusterGroup(azureCluster).ID())
	return strings.HasPrefix(arm.Key(id), group+"/") &&
		!strings.HasPrefix(arm.Key(id), group+"/providers/microsoft.authorization/")
}
