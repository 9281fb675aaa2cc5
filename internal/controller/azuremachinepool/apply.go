package azuremachinepool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

const (
	hourly  = time.Hour
	shortly = time.Second
	soon    = 5 * time.Second
)

// scaledElsewhere says that an autoscaler of Azure or of the user sets the capacity.
func (s *scope) scaledElsewhere() bool {
	return annotations.ReplicasManagedByExternalAutoscaler(s.machinePool)
}

// apply compares the scale set with Azure and begins what is due: one write for all
// that changed, the capacity included. A write that failed or goes on for long does not
// end the pass: some of its instances are there, and those that will never be nodes have
// to go.
func (r *Reconciler) apply(ctx context.Context, s *scope) (ctrl.Result, error) {
	if err := r.adoptReplicas(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	resources, err := s.resources()
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		return s.hold(cloud.InvalidConfiguration, invalid.Error(), hourly)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	resources = s.withRight(resources)
	underway := len(s.pool.Status.LongRunningOperationStates) > 0
	outcome := s.azure.Apply(ctx, s.cluster.Name, resources, s.pool.Status.LongRunningOperationStates)
	s.pool.Status.LongRunningOperationStates = cloud.States(outcome.Tokens)
	condition.Fold(s.pool, outcome)
	if err := s.report(outcome); err != nil {
		return ctrl.Result{}, err
	}
	if outcome.State != plan.Done {
		s.again = cloud.Requeue(outcome, r.Resync)
	}
	switch {
	case outcome.State != plan.Done && s.live == nil, outcome.State == plan.Waiting && !s.slow(time.Now()):
		return ctrl.Result{RequeueAfter: s.again}, nil
	case outcome.State == plan.Waiting:
		s.busy = true
		return ctrl.Result{}, nil // what was read a while ago is shown; the end of the write has it read anew
	}
	if underway || outcome.Writes > 0 || s.live != nil && int(s.live.SKU.Capacity) != s.present() {
		if result, err := r.lookAtInstances(ctx, s, true); err != nil || !result.IsZero() {
			return result, err
		}
		if err := s.compare(resources[0]); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// slowWrite is how long a write of the scale set may go on before its instances are
// shown one by one. One guest that never reports lets Azure wait for most of an hour.
const slowWrite = time.Minute

// slow says whether a write of the scale set goes on for long.
func (s *scope) slow(now time.Time) bool {
	return slices.ContainsFunc(cloud.Tokens(s.pool.Status.LongRunningOperationStates), func(t plan.Token) bool {
		return strings.EqualFold(t.ID, s.setID()) && t.Resume != "" && now.Sub(t.Begun) > slowWrite
	})
}

// adoptReplicas makes the MachinePool follow a capacity that somebody else sets.
func (r *Reconciler) adoptReplicas(ctx context.Context, s *scope) error {
	if !s.scaledElsewhere() || s.live == nil || s.live.SKU.Capacity == s.replicas() {
		return nil
	}
	before := s.machinePool.DeepCopy()
	s.machinePool.Spec.Replicas = new(s.live.SKU.Capacity)
	if err := r.Client.Patch(ctx, s.machinePool, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("set the replicas of MachinePool %s to those of the scale set: %w", s.machinePool.Name, err)
	}
	return nil
}

// resources are the desired ones of the pool. They are made twice, because the
// capacity depends on how many instances the model outdates.
func (s *scope) resources() ([]desired.Resource, error) {
	in := desired.ScaleSetInput{
		Cluster: s.azureCluster, Pool: s.pool, ClusterName: s.cluster.Name, Name: s.name,
		Zones: s.machinePool.Spec.FailureDomains, Capacity: s.replicas(), Exists: s.live != nil,
		Image: s.input.image, BootstrapData: s.input.bootstrapData, AdminPassword: s.input.password,
		AcceleratedNetworking: s.input.size.AcceleratedNetworking, ARM64: s.input.size.ARM64,
		ScaledElsewhere: s.scaledElsewhere(),
	}
	if s.input.secret != nil {
		in.SecretReader = s.input.secret.ReaderID(s.azureCluster)
	}
	if s.live == nil {
		return desired.ScaleSet(in)
	}
	in.PrincipalID = s.live.Identity.PrincipalID
	resources, err := desired.ScaleSet(in)
	if err != nil {
		return nil, err
	}
	if err := s.compare(resources[0]); err != nil {
		return nil, err
	}
	if in.Capacity = s.capacity(); in.Capacity > s.live.SKU.Capacity {
		// An instance that was deleted while the set grew has taken capacity along.
		s.pool.Status.LongRunningOperationStates = cloud.Unsettled(s.pool.Status.LongRunningOperationStates, s.setID())
	}
	return desired.ScaleSet(in)
}

// withRight adds the right to read the bootstrap secret, which the first instances have
// to find, until it is there.
func (s *scope) withRight(resources []desired.Resource) []desired.Resource {
	if s.input.secret == nil || s.live != nil && conditions.IsTrue(s.pool, infrav1.RoleAssignmentReadyCondition) {
		return resources
	}
	right := s.input.secret.Right(s.azureCluster)
	resources[0].Needs = append(resources[0].Needs, right.ID)
	return append(resources, right)
}

// capacity is what the scale set should have. It never takes instances away: those
// are chosen, drained and deleted one by one.
func (s *scope) capacity() int32 {
	if s.scaledElsewhere() {
		return s.live.SKU.Capacity
	}
	b := s.budget()
	return max(b.wanted+min(b.surge, s.outdated()), s.live.SKU.Capacity)
}

// outdated counts the instances of an old model.
func (s *scope) outdated() int32 {
	n := int32(0)
	for _, m := range s.members {
		if m.instance != nil && m.instance.outdated {
			n++
		}
	}
	return n
}

// present counts the instances that Azure has.
func (s *scope) present() int {
	n := 0
	for _, m := range s.members {
		if m.instance != nil {
			n++
		}
	}
	return n
}

// report writes what Azure shows of the scale set into the pool's status.
func (s *scope) report(outcome plan.Outcome) error {
	var raw json.RawMessage
	for id, live := range outcome.Live {
		if strings.EqualFold(id, s.setID()) {
			raw = live
		}
	}
	set, err := parseSet(raw)
	if err != nil || set == nil {
		return err
	}
	s.live = set
	status := &s.pool.Status
	state := infrav1.ProvisioningState(set.Properties.ProvisioningState)
	status.ProvisioningState = &state
	s.pool.Spec.ProviderID = desired.ProviderID(s.setID())
	if state == infrav1.Succeeded {
		status.Ready = true
		status.Initialization.Provisioned = new(true)
	}
	return nil
}
