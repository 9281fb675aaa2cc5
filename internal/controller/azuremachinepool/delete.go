package azuremachinepool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

// deleteInstances is the body of the scale set's delete action.
type deleteInstances struct {
	InstanceIDs []string `json:"instanceIds"`
}

// endInstances deletes, in one call, the instances whose objects are being deleted.
func (r *Reconciler) endInstances(ctx context.Context, s *scope) (ctrl.Result, error) {
	doomed, id := s.doomedInstances(), s.setID()+"/delete"
	if len(doomed) == 0 || s.live == nil {
		// The list may show that they are gone before the operation says so.
		s.pool.Status.LongRunningOperationStates = cloud.Forget(s.pool.Status.LongRunningOperationStates, id)
		return ctrl.Result{}, nil
	}
	action := desired.Resource{
		ID: id, APIVersion: desired.ComputeAPIVersion, Body: deleteInstances{doomed},
		Policy: desired.Manage, Condition: infrav1.ScaleSetDesiredReplicasCondition, Field: "spec.replicas",
	}
	outcome := s.azure.Act(ctx, s.cluster.Name, []desired.Resource{action}, s.pool.Status.LongRunningOperationStates)
	s.pool.Status.LongRunningOperationStates = cloud.States(outcome.Tokens)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, scaling)
		condition.False(s.pool, infrav1.ScaleSetDesiredReplicasCondition, reason, fmt.Sprintf("deleting %d instances: %s", len(doomed), message))
		return ctrl.Result{RequeueAfter: cloud.Requeue(outcome, r.Resync)}, nil
	}
	// A write that failed for one of them would not fail again.
	s.pool.Status.LongRunningOperationStates = cloud.Forgive(s.pool.Status.LongRunningOperationStates, s.setID())
	// The capacity has gone down with them.
	if result, err := s.readSet(ctx); err != nil || !result.IsZero() {
		return result, err
	}
	if result, err := r.lookAtInstances(ctx, s, true); err != nil || !result.IsZero() {
		return result, err
	}
	if len(s.doomedInstances()) > 0 {
		// What has ended was an earlier deletion; these are for the next pass.
		return ctrl.Result{RequeueAfter: shortly}, nil
	}
	return ctrl.Result{}, nil
}

// doomedInstances are the numbers of the instances whose objects are being deleted.
func (s *scope) doomedInstances() []string {
	var doomed []string
	for i := range s.members {
		if m := &s.members[i]; m.shown != nil && !m.shown.DeletionTimestamp.IsZero() && m.instance != nil {
			doomed = append(doomed, m.instance.number)
		}
	}
	slices.Sort(doomed)
	return doomed
}

// delete removes the scale set, which takes its instances along, then the objects
// that showed them, then the finalizer.
func (r *Reconciler) delete(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.azureCluster == nil || cloud.Abandoned(s.azureCluster) || cloud.Abandoned(s.pool) {
		return r.forget(ctx, s)
	}
	session, err := r.Opener.Open(ctx, s.azureCluster)
	if refused, ok := errors.AsType[*cloud.IdentityError](err); ok {
		if s.nothingMade() {
			return r.forget(ctx, s)
		}
		condition.False(s.pool, infrav1.ScaleSetRunningCondition, refused.Reason, refused.Message+
			". The scale set cannot be deleted without it; to leave it in Azure, annotate the AzureMachinePool or its AzureCluster with "+cloud.AbandonAnnotation+"=true")
		return ctrl.Result{RequeueAfter: r.Resync}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	s.azure = session
	if result, err := r.chooseName(ctx, s); err != nil || !result.IsZero() {
		return result, err
	}
	resources, err := s.toDelete(ctx)
	if err != nil {
		after, reason := cloud.RetryOf(err)
		condition.False(s.pool, infrav1.ScaleSetRunningCondition, reason, "cannot read what has to be deleted: "+err.Error())
		return ctrl.Result{RequeueAfter: after}, nil
	}
	var later time.Duration
	if !s.groupGoes {
		err := s.azure.Unhide(ctx, s.azureCluster, s.cluster.Name, s.pool)
		if refused, ok := errors.AsType[*cloud.BootstrapError](err); ok {
			condition.False(s.pool, infrav1.BootstrapSecretReadyCondition, refused.Reason, refused.Message)
			later = cmp.Or(refused.After, r.Resync) // what the vault refuses keeps no scale set running
		}
	}
	outcome := s.azure.Delete(ctx, s.cluster.Name, resources, s.pool.Status.LongRunningOperationStates)
	s.pool.Status.LongRunningOperationStates = cloud.States(outcome.Tokens)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, infrav1.DeletingReason)
		condition.False(s.pool, infrav1.ScaleSetRunningCondition, reason, message)
		return ctrl.Result{RequeueAfter: cloud.Requeue(outcome, r.Resync)}, nil
	}
	if later > 0 {
		return ctrl.Result{RequeueAfter: later}, nil
	}
	return r.forget(ctx, s)
}

// nothingMade says whether nothing was ever asked of Azure for the pool, as far as is
// recorded.
func (s *scope) nothingMade() bool {
	id := s.pool.Spec.ProviderID
	recorded := id != "" && strings.EqualFold(id, desired.ProviderID(desired.ScaleSetID(s.azureCluster, desired.LastSegment(id))))
	return !recorded && s.pool.Status.ProvisioningState == nil && len(s.pool.Status.LongRunningOperationStates) == 0
}

// toDelete are the resources to delete: none that the cluster's own resource group
// takes along.
func (s *scope) toDelete(ctx context.Context) ([]desired.Resource, error) {
	raw, err := s.azure.Live(ctx, s.setID())
	if err != nil {
		return nil, err
	}
	if s.live, err = parseSet(raw); err != nil {
		return nil, err
	}
	in := desired.ScaleSetInput{Cluster: s.azureCluster, Pool: s.pool, ClusterName: s.cluster.Name, Name: s.name}
	if s.live != nil {
		in.PrincipalID = s.live.Identity.PrincipalID
	}
	whole, err := s.azure.GroupGoes(ctx, s.cluster, s.azureCluster)
	if err != nil {
		return nil, err
	}
	s.groupGoes = whole
	resources := desired.ScaleSetToDelete(in)
	if secret, ok := cloud.SecretOf(s.azureCluster, s.pool); ok {
		reader := secret.Reader(s.azureCluster, s.cluster.Name, s.spec.AdditionalTags)
		resources[0].Needs = append(resources[0].Needs, reader.ID)
		resources = append(resources, reader)
	}
	return slices.DeleteFunc(resources, func(r desired.Resource) bool {
		return whole && cloud.InGroup(s.azureCluster, r.ID)
	}), nil
}

// forget lets the pool and its machines go.
func (r *Reconciler) forget(ctx context.Context, s *scope) (ctrl.Result, error) {
	members, err := r.join(ctx, s, nil)
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range members {
		if err := r.release(ctx, members[i].shown); err != nil {
			return ctrl.Result{}, err
		}
	}
	controllerutil.RemoveFinalizer(s.pool, infrav1.MachinePoolFinalizer)
	return ctrl.Result{}, nil
}
