package azuremachinepool

import (
	"context"
	"fmt"
	"slices"
	"time"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

// deleteInstances is the body of the scale set's delete action.
type deleteInstances struct {
	InstanceIDs []string `json:"instanceIds"`
}

// deleteMarkedInstances deletes, in one call, the instances whose objects are being deleted.
func (r *Reconciler) deleteMarkedInstances(ctx context.Context, s *scope) pass.Result {
	deleted, again, err := s.deletedInstances(ctx, r.LeaveDelay)
	if err != nil {
		return pass.Unread(err, "read the load balancers that instances are to leave").On(infrav1.ScaleSetDesiredReplicasCondition)
	}
	id := s.setID() + "/delete"
	if len(deleted) == 0 || s.live == nil {
		// The list may show that the instances are deleted before the operation ends.
		*s.Operations() = record.Forget(*s.Operations(), id)
		return pass.Within(again)
	}
	action := desired.Resource{
		ID: id, APIVersion: desired.ComputeAPIVersion, Body: deleteInstances{deleted},
		Policy: desired.Manage, Condition: infrav1.ScaleSetDesiredReplicasCondition, Field: "spec.replicas",
	}
	outcome := s.Azure.Invoke(ctx, s.Cluster.Name, []desired.Resource{action}, *s.Operations())
	*s.Operations() = record.States(outcome.Tokens)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, condition.Scaling)
		return pass.Blocked(reason, fmt.Sprintf("deleting %d instances: %s", len(deleted), message), cloud.Requeue(outcome, r.Resync)).
			On(infrav1.ScaleSetDesiredReplicasCondition)
	}
	// A failed write of one of the deleted instances is no longer relevant.
	*s.Operations() = record.Forgive(*s.Operations(), s.setID())
	// Deleting instances reduces the capacity of the scale set, so the set is read again.
	if result := s.readSet(ctx); result.Ends() {
		return result
	}
	if result := r.readInstances(ctx, s, true); result.Ends() {
		return result
	}
	if deleted, _, err := s.deletedInstances(ctx, r.LeaveDelay); err == nil && len(deleted) > 0 {
		// The ended deletion was an earlier one; the next pass begins this one.
		return pass.Wait(shortly)
	}
	return pass.Within(again)
}

// deletedInstances returns the numbers of the instances whose objects are being deleted, except instances that load
// balancers still use, and the time until the latter are checked again.
func (s *scope) deletedInstances(ctx context.Context, delay time.Duration) (deleted []string, again time.Duration, err error) {
	var balancers cloud.Balancers
	for i := range s.members {
		m := &s.members[i]
		if m.shown == nil || m.shown.DeletionTimestamp.IsZero() || m.instance == nil {
			continue
		}
		if left := cloud.Leaves(s.Cluster, m.machine, delay); left > 0 {
			if balancers == nil {
				if balancers, err = s.Azure.Balancers(ctx, desired.ClusterGroup(s.AzureCluster)); err != nil {
					return nil, 0, err
				}
			}
			if balancers.Serve(m.shown.Status.Addresses, m.instance.id) {
				again = cloud.Sooner(again, min(left, cloud.LookEvery))
				continue
			}
		}
		deleted = append(deleted, m.instance.number)
	}
	slices.Sort(deleted)
	return deleted, again, nil
}
