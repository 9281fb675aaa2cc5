package azurecluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

const (
	deleting           = "Deleting"
	waitingForMachines = "WaitingForMachines"

	machinesPoll = 15 * time.Second
	hourly       = time.Hour
)

// delete removes from Azure what casement made for the cluster, then the
// finalizer.
func (r *Reconciler) delete(ctx context.Context, s *scope) (ctrl.Result, error) {
	if cloud.Abandoned(s.azureCluster) {
		return ctrl.Result{}, r.forget(ctx, s)
	}
	if n, err := r.machines(ctx, s); err != nil {
		return ctrl.Result{}, err
	} else if n > 0 {
		condition.False(s.azureCluster, infrav1.NetworkInfrastructureReadyCondition, waitingForMachines,
			fmt.Sprintf("%d AzureMachines of the cluster still have virtual machines in the network", n))
		return ctrl.Result{RequeueAfter: machinesPoll}, nil
	}
	session, err := r.Opener.Open(ctx, s.azureCluster)
	if refused, ok := errors.AsType[*cloud.IdentityError](err); ok {
		return r.deleteWithoutIdentity(ctx, s, refused)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	s.azure = session
	resources, result, err := s.toDelete(ctx)
	if err != nil || !result.IsZero() {
		return result, err
	}
	outcome := s.azure.Delete(ctx, s.cluster.Name, resources, s.azureCluster.Status.LongRunningOperationStates)
	s.azureCluster.Status.LongRunningOperationStates = cloud.States(outcome.Tokens)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, deleting)
		condition.False(s.azureCluster, infrav1.NetworkInfrastructureReadyCondition, reason, message)
		return ctrl.Result{RequeueAfter: cloud.Requeue(outcome, r.Resync)}, nil
	}
	return ctrl.Result{}, r.forget(ctx, s)
}

// machines counts the AzureMachines of the cluster that casement has worked on.
func (r *Reconciler) machines(ctx context.Context, s *scope) (int, error) {
	var all infrav1.AzureMachineList
	err := r.Client.List(ctx, &all, client.InNamespace(s.azureCluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: s.cluster.Name})
	n := 0
	for i := range all.Items {
		if controllerutil.ContainsFinalizer(&all.Items[i], infrav1.MachineFinalizer) {
			n++
		}
	}
	return n, err
}

// deleteWithoutIdentity handles a cluster whose credentials are gone: with
// nothing ever made there is nothing to call, otherwise somebody has to bring
// them back or give the resources up.
func (r *Reconciler) deleteWithoutIdentity(ctx context.Context, s *scope, refused *cloud.IdentityError) (ctrl.Result, error) {
	if !conditions.Has(s.azureCluster, infrav1.ResourceGroupReadyCondition) {
		return ctrl.Result{}, r.forget(ctx, s)
	}
	condition.False(s.azureCluster, infrav1.NetworkInfrastructureReadyCondition, refused.Reason, refused.Message+
		". The cluster's Azure resources cannot be deleted without it; to leave them in Azure, annotate the AzureCluster with "+cloud.AbandonAnnotation+"=true")
	return ctrl.Result{RequeueAfter: r.Resync}, nil
}

// forget lets go of the identity and of the object itself.
func (r *Reconciler) forget(ctx context.Context, s *scope) error {
	if err := r.Opener.Release(ctx, s.azureCluster); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(s.azureCluster, infrav1.ClusterFinalizer)
	return nil
}

// toDelete are the resources to delete: each resource group of the cluster's own in one
// call, and one by one what is elsewhere.
func (s *scope) toDelete(ctx context.Context) ([]desired.Resource, ctrl.Result, error) {
	in, result, err := s.input(ctx, desired.Vault{Name: s.azureCluster.Annotations[infrav1.BootstrapVaultAnnotation]})
	if err != nil || !result.IsZero() {
		return nil, result, err
	}
	resources := desired.ClusterToDelete(in)
	var groups []desired.Resource
	for _, r := range resources {
		if !isGroup(r) {
			continue
		}
		live, err := s.azure.Live(ctx, r.ID)
		if err != nil {
			result, err := s.waitFor(err, infrav1.ResourceGroupReadyCondition, "read resource group "+desired.LastSegment(r.ID))
			return nil, result, err
		}
		if live == nil || desired.IsOwned(tagsOf(live), s.cluster.Name) {
			groups = append(groups, r)
		}
	}
	return outside(resources, groups), ctrl.Result{}, nil
}

// outside are the owned groups and, of the other resources, those that do not go
// with one of them. Groups that are not owned stay.
func outside(resources, groups []desired.Resource) []desired.Resource {
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
