package azuremachinepool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
)

// liveSet has the fields of a scale set that casement reads.
type liveSet struct {
	ID   string            `json:"id"`
	Tags map[string]string `json:"tags"`
	SKU  struct {
		Capacity int32 `json:"capacity"`
	} `json:"sku"`
	Identity struct {
		PrincipalID string `json:"principalId"`
	} `json:"identity"`
	Properties struct {
		ProvisioningState string `json:"provisioningState"`
	} `json:"properties"`
	raw json.RawMessage
}

func parseSet(live json.RawMessage) (*liveSet, error) {
	if live == nil {
		return nil, nil
	}
	set := &liveSet{raw: live}
	if err := json.Unmarshal(live, set); err != nil {
		return nil, fmt.Errorf("read the scale set: %w", err)
	}
	return set, nil
}

// observe reads the scale set and its instances.
func (r *Reconciler) observe(ctx context.Context, s *scope) pass.Result {
	if result := s.readSet(ctx); result.Ends() {
		return result
	}
	if s.live != nil {
		if other := s.Azure.Other(ctx, s.live.Tags, s.Cluster.Name, false); other != "" {
			return pass.Blocked(infrav1.OwnedByAnotherReason, r.Opener.Explain(ctx, s.AzureCluster, "scale set "+s.name, other),
				cloud.OwnerPause)
		}
	}
	if s.live != nil && !desired.IsOwned(s.live.Tags, s.Cluster.Name) {
		return pass.Blocked(cloud.InvalidConfiguration, fmt.Sprintf("a scale set %s that does not belong to the "+
			"cluster exists in resource group %s; rename or delete it",
			s.name, s.AzureCluster.Spec.ResourceGroup), r.Resync)
	}
	if result := r.readInstances(ctx, s, false); result.Ends() || !s.doubtful() {
		return result
	}
	// Another program may have just deleted an instance.
	s.Azure.Refresh(s.setID())
	if result := s.readSet(ctx); result.Ends() {
		return result
	}
	return r.readInstances(ctx, s, true)
}

// readSet reads the scale set.
func (s *scope) readSet(ctx context.Context) pass.Result {
	raw, err := s.Azure.Live(ctx, s.setID())
	if err != nil {
		return pass.Unread(err, "read the scale set "+s.name)
	}
	s.live, err = parseSet(raw)
	return pass.Error(err)
}

// doubtful reports whether the cached state is probably outdated: a node is lost, or the set and its instances
// contradict each other although no operation is in progress.
func (s *scope) doubtful() bool {
	if s.live == nil {
		return false
	}
	if slices.ContainsFunc(s.members, member.vanished) {
		return true // another manager may have created the set since the list was read
	}
	if len(s.pool.Status.LongRunningOperationStates) > 0 {
		return false
	}
	return slices.ContainsFunc(s.members, member.lost) || int(s.live.SKU.Capacity) != s.present()
}

// readInstances reads the instances from Azure and joins them with their Kubernetes objects.
func (r *Reconciler) readInstances(ctx context.Context, s *scope, fresh bool) pass.Result {
	var found []instance
	if s.live == nil {
		r.parser.forget(s.setID())
		r.digests.forget(s.setID())
	} else {
		var err error
		if found, err = s.instances(ctx, &r.parser, fresh); err != nil {
			return pass.Unread(err, "list the instances of scale set "+s.name)
		}
	}
	members, err := r.join(ctx, s, found)
	s.members = members
	return pass.Error(err)
}
