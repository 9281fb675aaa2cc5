package azurecluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

const (
	waitingForMachines = "WaitingForMachines"

	machinesPoll = 15 * time.Second
)

// abandon completes the deletion of a cluster whose Azure resources the user has given up.
func (r *Reconciler) abandon(ctx context.Context, s *scope) pass.Result {
	if cloud.Abandoned(s.AzureCluster) {
		return r.forget(ctx, s)
	}
	return pass.Next()
}

// machines waits until no AzureMachine of the cluster is left for which casement has created resources.
func (r *Reconciler) machines(ctx context.Context, s *scope) pass.Result {
	var all infrav1.AzureMachineList
	if err := r.Client.List(ctx, &all, client.InNamespace(s.AzureCluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.Cluster.Name}); err != nil {
		return pass.Error(err)
	}
	n := 0
	for i := range all.Items {
		if controllerutil.ContainsFinalizer(&all.Items[i], infrav1.MachineFinalizer) {
			n++
		}
	}
	if n > 0 {
		return pass.Blocked(waitingForMachines,
			fmt.Sprintf("%d AzureMachines of the cluster still have virtual machines in the network", n),
			machinesPoll)
	}
	return pass.Next()
}

// openToDelete opens a session with the cluster's credentials. If they are missing and nothing was ever created, there
// is nothing to delete; otherwise a user has to restore them or give up the resources.
func (r *Reconciler) openToDelete(ctx context.Context, s *scope) pass.Result {
	result := s.Open(ctx, r.Opener, r.Resync)
	if result.Reason == "" {
		return result
	}
	if !conditions.Has(s.AzureCluster, infrav1.ResourceGroupReadyCondition) {
		return r.forget(ctx, s)
	}
	result.Message += ". The cluster's Azure resources cannot be deleted without it; to leave them in Azure, " +
		"annotate the AzureCluster with " + cloud.AbandonAnnotation + "=true"
	return result
}

// observeToDelete determines the resources to delete: each resource group of the cluster is one call, and resources
// elsewhere are one call each. If the cluster's own group is not deleted, they include all resources in it that have
// the cluster's mark.
func (r *Reconciler) observeToDelete(ctx context.Context, s *scope) pass.Result {
	if result := r.network(ctx, s); result.Ends() {
		return result
	}
	resources := desired.ClusterToDelete(s.input(desired.Vault{Name: s.AzureCluster.Annotations[infrav1.BootstrapVaultAnnotation]}))
	var groups []desired.Resource
	for _, resource := range resources {
		if !isGroup(resource) {
			continue
		}
		live, err := s.Azure.Live(ctx, resource.ID)
		if err != nil {
			return pass.Unread(err, "read resource group "+desired.LastSegment(resource.ID)).On(infrav1.ResourceGroupReadyCondition)
		}
		whole := live == nil
		if !whole {
			if whole, err = s.Azure.WholeGroup(ctx, resource.ID, live, s.Cluster.Name, true); err != nil {
				return pass.Unread(err, "read what is in resource group "+desired.LastSegment(resource.ID)).On(infrav1.ResourceGroupReadyCondition)
			}
		}
		if whole {
			groups = append(groups, resource)
		}
	}
	s.toDelete = notDeletedWithGroup(resources, groups)
	own := desired.ClusterGroup(s.AzureCluster).ID()
	if slices.ContainsFunc(groups, func(r desired.Resource) bool { return strings.EqualFold(r.ID, own) }) {
		return pass.Next()
	}
	// Machines and pools may have left resources in the group, which have to be deleted with the cluster.
	var err error
	if s.toDelete, err = s.Azure.Left(ctx, own, s.toDelete); err != nil {
		return pass.Unread(err, "read what is left in resource group "+desired.LastSegment(own)).On(infrav1.ResourceGroupReadyCondition)
	}
	return pass.Next()
}

// remove deletes the resources that casement created for the cluster, then the finalizer.
func (r *Reconciler) remove(ctx context.Context, s *scope) pass.Result {
	outcome := s.Azure.Delete(ctx, s.Cluster.Name, s.toDelete, *s.Operations())
	*s.Operations() = record.States(outcome.Tokens)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, deleting)
		return pass.Blocked(reason, message, cloud.Requeue(outcome, r.Resync))
	}
	return r.forget(ctx, s)
}

// forget removes the finalizers from the identity and from the AzureCluster.
func (r *Reconciler) forget(ctx context.Context, s *scope) pass.Result {
	if err := r.Opener.Release(ctx, s.AzureCluster); err != nil {
		return pass.Error(err)
	}
	controllerutil.RemoveFinalizer(s.AzureCluster, infrav1.ClusterFinalizer)
	return pass.Done()
}

// notDeletedWithGroup returns the owned groups, and the other resources that are not deleted together with such a group. Groups
// that are not owned are kept.
func notDeletedWithGroup(resources, groups []desired.Resource) []desired.Resource {
	out := groups
	for _, r := range resources {
		inside := isGroup(r) || r.Policy == desired.Observe
		for _, g := range groups {
			inside = inside || strings.HasPrefix(strings.ToLower(r.ID), strings.ToLower(g.ID)+"/")
		}
		if !inside {
			out = append(out, r)
		}
	}
	return out
}

func isGroup(r desired.Resource) bool { return r.APIVersion == desired.ResourcesAPIVersion }
