package azuremachinepool

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/bootdata"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

// abandon completes the deletion of a pool whose Azure resources cannot be reached any more or were given up.
func (r *Reconciler) abandon(ctx context.Context, s *scope) pass.Result {
	if s.AzureCluster == nil || cloud.Abandoned(s.AzureCluster) || cloud.Abandoned(s.pool) {
		return r.forget(ctx, s)
	}
	if !cloud.Recorded(s.AzureCluster, s.Cluster) {
		return pass.Wait(soon) // until it is known which resources belong to the cluster
	}
	return pass.Next()
}

// openToDelete opens a session with the cluster's credentials. If they are missing and nothing was ever created, there
// is nothing to delete; otherwise a user has to restore them or give up the scale set.
func (r *Reconciler) openToDelete(ctx context.Context, s *scope) pass.Result {
	result := s.Open(ctx, r.Opener, r.Resync)
	if result.Reason == "" {
		return result
	}
	if s.nothingMade() {
		return r.forget(ctx, s)
	}
	result.Message += ". The scale set cannot be deleted without it; to leave it in Azure, annotate the " +
		"AzureMachinePool or its AzureCluster with " +
		cloud.AbandonAnnotation + "=true"
	return result.On(infrav1.ScaleSetRunningCondition)
}

// observeToDelete determines the resources that the deletion of the pool removes.
func (r *Reconciler) observeToDelete(ctx context.Context, s *scope) pass.Result {
	if err := s.collect(ctx); err != nil {
		return pass.Unread(err, "read what has to be deleted").On(infrav1.ScaleSetRunningCondition)
	}
	return pass.Next()
}

// remove deletes the scale set with its instances, then the AzureMachinePoolMachines, then
// the finalizer.
func (r *Reconciler) remove(ctx context.Context, s *scope) pass.Result {
	var later time.Duration
	if !s.GroupGoes {
		err := bootdata.Unhide(ctx, s.Azure, s.AzureCluster, s.Cluster.Name, s.pool)
		if refused, ok := errors.AsType[*bootdata.Error](err); ok {
			condition.False(s.pool, infrav1.BootstrapSecretReadyCondition, refused.Reason, refused.Message)
			later = cmp.Or(refused.After, r.Resync) // a refusal by the vault does not prevent the scale set's deletion
		}
	}
	outcome := s.Azure.Delete(ctx, s.Cluster.Name, s.toDelete, *s.Operations())
	*s.Operations() = record.States(outcome.Tokens)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, infrav1.DeletingReason)
		return pass.Blocked(reason, message, cloud.Requeue(outcome, r.Resync)).On(infrav1.ScaleSetRunningCondition)
	}
	if later > 0 {
		return pass.Wait(later)
	}
	return r.forget(ctx, s)
}

// nothingMade reports whether, according to the object's records, no Azure resource was ever created for the pool.
func (s *scope) nothingMade() bool {
	id := s.pool.Spec.ProviderID
	recorded := id != "" && strings.EqualFold(id, desired.ProviderID(desired.ScaleSetID(s.AzureCluster, desired.LastSegment(id))))
	return !recorded && s.pool.Status.ProvisioningState == nil && len(s.pool.Status.LongRunningOperationStates) == 0
}

// collect determines the resources to delete, except those that are deleted with the cluster's own resource group.
func (s *scope) collect(ctx context.Context) error {
	raw, err := s.Azure.Live(ctx, s.setID())
	if err != nil {
		return err
	}
	if s.live, err = parseSet(raw); err != nil {
		return err
	}
	in := desired.ScaleSetInput{Cluster: s.AzureCluster, Pool: s.pool, ClusterName: s.Cluster.Name, Name: s.name}
	if s.live != nil && s.Azure.Owns(ctx, s.live.Tags, s.Cluster.Name, false) {
		in.PrincipalID = s.live.Identity.PrincipalID
	}
	whole, err := s.Azure.GroupGoes(ctx, s.Cluster, s.AzureCluster)
	if err != nil {
		return err
	}
	s.GroupGoes = whole
	resources := desired.ScaleSetToDelete(in)
	if secret, ok := bootdata.SecretOf(s.AzureCluster, s.pool); ok {
		reader := secret.Reader(s.AzureCluster, s.Cluster.Name, desired.ObjectMark("AzureMachinePool", s.pool.Name), s.spec.AdditionalTags)
		resources[0].Needs = append(resources[0].Needs, reader.ID)
		resources = append(resources, reader)
	}
	s.toDelete = slices.DeleteFunc(resources, func(r desired.Resource) bool {
		return whole && cloud.InGroup(s.AzureCluster, r.ID)
	})
	return nil
}

// forget removes the finalizers of the pool and of its machines.
func (r *Reconciler) forget(ctx context.Context, s *scope) pass.Result {
	members, err := r.join(ctx, s, nil)
	if err != nil {
		return pass.Error(err)
	}
	for i := range members {
		if err := r.release(ctx, members[i].shown); err != nil {
			return pass.Error(err)
		}
	}
	controllerutil.RemoveFinalizer(s.pool, infrav1.MachinePoolFinalizer)
	return pass.Done()
}
