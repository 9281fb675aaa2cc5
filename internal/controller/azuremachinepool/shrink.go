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

// shrink deletes, in one call, the instances whose objects are being deleted.
func (r *Reconciler) shrink(ctx context.Context, s *scope) pass.Result {
	deleted, serves := s.deletedInstances(r.LeaveDelay)
	id := s.setID() + "/delete"
	if len(deleted) == 0 || s.live == nil {
		// The list may show that they are deleted before the operation does.
		*s.Operations() = record.Forget(*s.Operations(), id)
		return pass.Within(serves)
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
	// An error of a write of one of the deleted instances no longer counts.
	*s.Operations() = record.Forgive(*s.Operations(), s.setID())
	// Deleting instances lowers the capacity of the scale set, so it is read again.
	if result := s.readSet(ctx); result.Ends() {
		return result
	}
	if result := r.readInstances(ctx, s, true); result.Ends() {
		return result
	}
	if deleted, _ := s.deletedInstances(r.LeaveDelay); len(deleted) > 0 {
		// The deletion that has ended was an earlier one; the next pass begins this one.
		return pass.Wait(shortly)
	}
	return pass.Within(serves)
}

// deletedInstances returns the numbers of the instances whose objects are being deleted, but for those of which load balancers
// have yet to let go, and how long the first of these takes.
func (s *scope) deletedInstances(delay time.Duration) (deleted []string, serves time.Duration) {
	for i := range s.members {
		m := &s.members[i]
		if m.shown == nil || m.shown.DeletionTimestamp.IsZero() || m.instance == nil {
			continue
		}
		if wait := cloud.Serves(s.Cluster, m.machine, delay); wait > 0 {
			serves = cloud.Sooner(serves, wait)
			continue
		}
		deleted = append(deleted, m.instance.number)
	}
	slices.Sort(deleted)
	return deleted, serves
}
