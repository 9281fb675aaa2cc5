package engine

import (
	"context"
	"net/http"

	"casement.dev/casement/azuresim/internal/value"
)

// DeleteBelow starts the delete of all resources in a resource group that no other resource blocks
// at present.
func (t *Tx) DeleteBelow(parent *Operation) (open []*Operation, refused *Error, progress bool) {
	for _, r := range t.Below(value.Lower(parent.Target)) {
		key := r.Key
		if t.records[key] != r {
			continue // was deleted with its parent
		}
		k := t.Server.Registry.TypeOf(r.Type)
		if k == nil {
			continue
		}
		if cur := t.open[key]; cur != nil {
			if !cur.deletes() && k.Supersedes {
				t.Supersede(key)
			} else {
				open = append(open, cur)
				continue
			}
		}
		d := t.Doc(r)
		if len(d.Parsed.Types) > 1 && k.Sync {
			continue
		}
		if k.Guard != nil {
			if e := k.Guard(t, d); e != nil {
				refused = Conflict("ResourceGroupDeletionBlocked", "Deletion of resource group '%s' failed as "+
					"resources with identifiers '%s' could not be deleted: %s", parent.Target, d.ID, e.Message)
				continue
			}
		}
		if k.Sync {
			k.erase(t, d)
			progress = true
			continue
		}
		e := t.Edit(key)
		value.Props(e.Body)["provisioningState"] = "Deleting"
		t.Put(e)
		open = append(open, t.Begin(&Operation{Method: http.MethodDelete, Target: d.ID, Style: k.Style, Subscription: parent.Subscription,
			Namespace: d.Parsed.Namespace, Location: d.Location(), APIVersion: parent.APIVersion}, k.Delete, k.Takes))
	}
	return open, refused, progress
}

// erase removes a document of the type, and all documents whose IDs are below it, from the store.
func (t *Type) erase(tx *Tx, d *Doc) {
	if t.Gone != nil {
		t.Gone(tx, d)
	}
	tx.Drop(d.ID)
}

// AwaitEnd waits for the end of an operation.
func (s *Server) AwaitEnd(ctx context.Context, id string) *Error {
	for {
		changed := s.running.wait()
		ended := false
		s.Read(func(t *Tx) { ended = t.ops[id] == nil || t.ops[id].Status != statusInProgress })
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return Refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		case <-changed:
		}
	}
}

// Ended waits for the end of an operation and returns its error.
func (s *Server) Ended(ctx context.Context, id string) *Error {
	if id == "" {
		return nil
	}
	if e := s.AwaitEnd(ctx, id); e != nil {
		return e
	}
	var e *Error
	s.Read(func(t *Tx) {
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
