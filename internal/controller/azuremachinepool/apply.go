package azuremachinepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

const (
	hourly  = time.Hour
	shortly = time.Second
	soon    = 5 * time.Second
)

// scaledElsewhere reports whether an autoscaler of Azure or of the user sets the capacity.
func (s *scope) scaledElsewhere() bool {
	return annotations.ReplicasManagedByExternalAutoscaler(s.machinePool)
}

// apply compares the scale set with Azure and begins the write that is due: one write for
// all changes, including the capacity.
func (r *Reconciler) apply(ctx context.Context, s *scope) pass.Result {
	if err := r.adoptReplicas(ctx, s); err != nil {
		return pass.Error(err)
	}
	resources, err := r.resources(ctx, s)
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		return pass.Blocked(cloud.InvalidConfiguration, invalid.Error(), hourly)
	}
	if err != nil {
		return pass.Error(err)
	}
	resources = s.withRight(resources)
	s.set, s.underway = resources[0], len(*s.Operations()) > 0
	s.outcome = s.Azure.Apply(ctx, s.Cluster.Name, resources, *s.Operations())
	*s.Operations() = record.States(s.outcome.Tokens)
	return pass.Next()
}

// adoptReplicas sets the MachinePool's replicas to the capacity that an autoscaler set.
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

// resources returns the desired resources of the pool. They are computed twice, because the capacity depends on the
// number of instances that the new model makes outdated.
func (r *Reconciler) resources(ctx context.Context, s *scope) ([]desired.Resource, error) {
	in := desired.ScaleSetInput{
		Cluster: s.AzureCluster, Pool: s.pool, ClusterName: s.Cluster.Name, Name: s.name,
		Zones: s.machinePool.Spec.FailureDomains, Capacity: s.replicas(), Exists: s.live != nil,
		Image: s.input.image, BootstrapData: s.input.bootstrapData, AdminPassword: s.input.password,
		AcceleratedNetworking: s.input.size.AcceleratedNetworking, ARM64: s.input.size.ARM64,
		ScaledElsewhere: s.scaledElsewhere(),
	}
	if s.input.secret != nil {
		in.SecretReader = s.input.secret.ReaderID(s.AzureCluster)
	}
	if s.live != nil {
		in.PrincipalID = s.live.Identity.PrincipalID
	}
	resources, err := desired.ScaleSet(in)
	if err != nil {
		return nil, err
	}
	if err := r.note(ctx, s, resources[0]); err != nil || s.live == nil {
		return resources, err
	}
	if err := s.compare(resources[0]); err != nil {
		return nil, err
	}
	if in.Capacity = s.capacity(); in.Capacity > s.live.SKU.Capacity {
		// An instance has been deleted since the last write, which reduced the capacity.
		s.pool.Status.LongRunningOperationStates = record.Unsettled(s.pool.Status.LongRunningOperationStates, s.setID())
	}
	return desired.ScaleSet(in)
}

// withRight adds the role assignment for reading the bootstrap secret, as long as it does not exist, because the first
// instances need it.
func (s *scope) withRight(resources []desired.Resource) []desired.Resource {
	if s.input.secret == nil || s.live != nil && conditions.IsTrue(s.pool, infrav1.RoleAssignmentReadyCondition) {
		return resources
	}
	right := s.input.secret.Right(s.AzureCluster)
	resources[0].Needs = append(resources[0].Needs, right.ID)
	return append(resources, right)
}

// capacity returns the capacity to write to the scale set. It is never less than the number
// of instances: surplus instances are chosen, drained and deleted one by one.
func (s *scope) capacity() int32 {
	if s.scaledElsewhere() {
		return s.live.SKU.Capacity
	}
	b := s.budget()
	return max(b.wanted+min(b.surge, s.outdated()), s.live.SKU.Capacity)
}

// outdated returns the number of instances with an old model.
func (s *scope) outdated() int32 {
	n := int32(0)
	for _, m := range s.members {
		if m.instance != nil && m.instance.outdated {
			n++
		}
	}
	return n
}

// changed returns the names of the parts of the model in which instances with old models differ.
func (s *scope) changed() []string {
	var names []string
	for _, m := range s.members {
		if m.instance != nil {
			names = append(names, m.instance.changed...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// present returns the number of instances in Azure.
func (s *scope) present() int {
	n := 0
	for _, m := range s.members {
		if m.instance != nil {
			n++
		}
	}
	return n
}
