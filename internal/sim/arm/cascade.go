package arm

import (
	"context"
	"net/http"
)

// deleteBelow begins the delete of all resources of a group that may go.
func (t *tx) deleteBelow(parent *operation) (open []*operation, refused *Error, progress bool) {
	for _, r := range t.below(lower(parent.Target)) {
		key := r.key
		if t.records[key] != r {
			continue // gone with its parent
		}
		k := t.s.registry.typeOf(r.Type)
		if k == nil {
			continue
		}
		if cur := t.open[key]; cur != nil {
			if !cur.deletes() && k.Supersedes {
				t.supersede(key)
			} else {
				open = append(open, cur)
				continue
			}
		}
		d := t.doc(r)
		if len(d.id.Types) > 1 && k.Sync {
			continue // goes with its parent
		}
		if k.Guard != nil {
			if e := k.Guard(t, d); e != nil {
				refused = conflict("ResourceGroupDeletionBlocked", "Deletion of resource group '%s' failed as resources with identifiers '%s' could not be deleted: %s", parent.Target, d.ID, e.Message)
				continue
			}
		}
		if k.Sync {
			t.drop(d.ID)
			progress = true
			continue
		}
		e := t.edit(key)
		props(e.Body)["provisioningState"] = "Deleting"
		t.put(e)
		open = append(open, t.begin(&operation{Method: http.MethodDelete, Target: d.ID, Style: k.Style, Subscription: parent.Subscription,
			Namespace: d.id.Namespace, Location: d.location(), APIVersion: parent.APIVersion}, k.Delete, k.Takes))
	}
	return open, refused, progress
}

// awaitEnd waits for the end of an operation.
func (s *Server) awaitEnd(ctx context.Context, id string) *Error {
	for {
		changed := s.running.wait()
		ended := false
		s.read(func(t *tx) { ended = t.ops[id] == nil || t.ops[id].Status != statusInProgress })
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		case <-changed:
		}
	}
}

// ended waits for the end of an operation and returns its error.
func (s *Server) ended(ctx context.Context, id string) *Error {
	if id == "" {
		return nil
	}
	if e := s.awaitEnd(ctx, id); e != nil {
		return e
	}
	var e *Error
	s.read(func(t *tx) {
		if op := t.operation(id); op != nil && op.Error != nil {
			copied := *op.Error
			e = &copied
		}
	})
	if e != nil && e.Status == 0 {
		e.Status = http.StatusConflict
	}
	return e
}
