package cloud

import (
	"context"
	"encoding/json"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/azure/vault"
	"casement.dev/casement/internal/controller/record"
)

// Session is one cluster's access to its subscription.
type Session struct {
	shared
	// owner has the tags that identify the cluster's resources; each call sets the tag with the cluster's name.
	owner plan.Owner
}

// For returns the session of one object of the cluster. If rightful returns false, a resource with the object's name
// belongs to the object only if the tags say so.
func (s *Session) For(kind, name string, rightful func(context.Context) bool) *Session {
	own, claims := *s, s.owner.Claims
	own.owner.Object = plan.Mark{Key: desired.ObjectTag, Value: desired.ObjectMark(kind, name)}
	own.owner.Claims = func(ctx context.Context) bool { return rightful(ctx) && claims(ctx) }
	return &own
}

// ownerOf returns the owner of the resources of a cluster.
func (s *Session) ownerOf(clusterName string) plan.Owner {
	owner := s.owner
	owner.Key, owner.Value = desired.OwnershipTag(clusterName), desired.Owned
	return owner
}

// Other returns the owner of a resource that has the cluster's tag, according to its tags; "" if that is the session's
// owner. shared is true for a resource that belongs to the whole cluster.
func (s *Session) Other(ctx context.Context, tags map[string]string, clusterName string, shared bool) string {
	owner := s.ownerOf(clusterName)
	if tags[owner.Key] != owner.Value {
		return ""
	}
	want := map[string]string{owner.Mark.Key: owner.Mark.Value}
	if !shared && owner.Object.Key != "" {
		want[owner.Object.Key] = owner.Object.Value
	}
	return owner.Other(ctx, tags, want)
}

// Owns reports whether tags are those of the session's own resources.
func (s *Session) Owns(ctx context.Context, tags map[string]string, clusterName string, shared bool) bool {
	return desired.IsOwned(tags, clusterName) && s.Other(ctx, tags, clusterName, shared) == ""
}

// Foreign reports whether a resource exists in Azure and is not the session's own.
func (s *Session) Foreign(ctx context.Context, live json.RawMessage, clusterName string, shared bool) bool {
	tags, err := TagsOf(live)
	return live != nil && (err != nil || !s.Owns(ctx, tags, clusterName, shared))
}

// Live returns a resource in Azure; nil without an error means that it does not exist.
// Reads are shared and up to a minute old.
func (s *Session) Live(ctx context.Context, id string) (json.RawMessage, error) {
	return s.planner.Live(ctx, id, desired.APIVersion(arm.TypeOf(id)))
}

// Refresh makes the next read of a resource call Azure, because another program may have just changed the resource.
func (s *Session) Refresh(id string) { s.planner.Forget(id) }

// Apply makes one pass towards the desired state of a cluster's resources. states are the operations in the status of
// the object to which the resources belong.
func (s *Session) Apply(ctx context.Context, clusterName string, resources []desired.Resource,
	states []infrav1.LongRunningOperationState) plan.Outcome {
	return s.planner.Apply(ctx, s.input(clusterName, resources, states))
}

// Delete makes one pass towards the deletion of resources.
func (s *Session) Delete(ctx context.Context, clusterName string, resources []desired.Resource,
	states []infrav1.LongRunningOperationState) plan.Outcome {
	return s.planner.Delete(ctx, s.input(clusterName, resources, states))
}

func (s *Session) input(clusterName string, resources []desired.Resource, states []infrav1.LongRunningOperationState) plan.Input {
	return plan.Input{
		Resources: resources,
		Owner:     s.ownerOf(clusterName),
		Tokens:    record.Tokens(states),
	}
}

// Invoke makes one pass over actions: each resource is the path of an action with the body to
// post. states are as for Apply.
func (s *Session) Invoke(ctx context.Context, clusterName string, actions []desired.Resource,
	states []infrav1.LongRunningOperationState) plan.Outcome {
	return s.planner.Invoke(ctx, s.input(clusterName, actions, states))
}

// List reads a collection. Unless fresh is true, the result may be up to a minute old.
func (s *Session) List(ctx context.Context, collection string, fresh bool) ([]json.RawMessage, error) {
	return s.planner.List(ctx, collection, desired.APIVersion(arm.TypeOf(collection)), fresh)
}

// Zones returns the availability zones of a location.
func (s *Session) Zones(ctx context.Context, location string) ([]string, error) {
	return s.catalog.Zones(ctx, location)
}

// Catalog returns Azure's offers in the subscription.
func (s *Session) Catalog() *catalog.Catalog { return s.catalog }

// Vault returns the client of bootstrap secrets.
func (s *Session) Vault() *vault.Client { return s.vault }

// TenantID returns the tenant of the cluster's identity; it may be empty.
func (s *Session) TenantID() string { return s.tenantID }

// ObjectMark returns the mark of the session's object; it is empty in the session of the cluster.
func (s *Session) ObjectMark() string { return s.owner.Object.Value }
