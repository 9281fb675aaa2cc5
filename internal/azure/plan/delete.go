package plan

import (
	"context"
	"fmt"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// deleteHash replaces the hash of the body, which a delete does not have.
const deleteHash = "delete"

// deleteOne advances the deletion of one resource as far as one pass can.
func (p *Planner) deleteOne(ctx context.Context, it *item) {
	if it.Policy == desired.Observe {
		it.done("Unmanaged")
		return
	}
	it.Body = deletionOf(it.Body)
	if it.token.Verb != Delete && !it.token.empty() {
		// The deletion replaces any other operation.
		it.token = Token{}
		p.reader.forget(it.ID)
	}
	it.token.Again = false
	if it.token.Resume != "" && p.poll(ctx, it) {
		return
	}
	live, err := p.reader.read(ctx, it.ID, it.APIVersion)
	if err != nil {
		it.unread(err)
		return
	}
	it.live = live
	if live == nil {
		p.gone(it)
		return
	}
	have, err := document(live)
	if err != nil {
		it.unread(fmt.Errorf("read %s: %w", describe(it.ID), err))
		return
	}
	p.remove(ctx, it, have)
}

func (p *Planner) remove(ctx context.Context, it *item, have map[string]any) {
	want := map[string]any{}
	if d, ok := it.Body.(deletion); ok && d.tags != nil {
		want["tags"] = d.tags
	}
	if d, ok := it.Body.(deletion); ok && d.principal != "" && lookup(have, "properties", "principalId") != d.principal {
		it.token = Token{}
		it.done("Unmanaged")
		it.status.Message = describe(it.ID) + " is of another principal: it is left alone"
		return
	}
	if !it.owned(have, want) {
		it.token = Token{}
		it.done("Unmanaged")
		it.status.Message = fmt.Sprintf("%s does not carry the tag %s=%s: it is left alone", describe(it.ID), it.owner.Key, it.owner.Value)
		return
	}
	whose, err := p.foreignOwner(ctx, it, have, want)
	if err != nil {
		it.unread(err)
		return
	}
	if whose != "" {
		it.token = Token{}
		it.done("Unmanaged")
		it.status.Message = fmt.Sprintf("%s belongs to %s: it is left alone", describe(it.ID), whose)
		return
	}
	if p.blocked(it, Delete, hashOf(it.Body)) {
		return
	}
	if state, _ := lookup(have, "properties", "provisioningState").(string); strings.EqualFold(state, "Deleting") {
		p.reader.forget(it.ID)
		it.set(Waiting, "Deleting", "deleting "+describe(it.ID))
		it.status.RetryAfter = transitionPause
		return
	}
	p.begin(ctx, it, Delete, nil)
}

// deletion is the body of a resource that is being deleted. It makes the token of a failed delete independent of the spec.
type deletion struct {
	tags map[string]any
	// principal is the principal of a role assignment, or "".
	principal string
}

// MarshalJSON returns the same document for every resource.
func (deletion) MarshalJSON() ([]byte, error) { return []byte(`{"` + deleteHash + `":true}`), nil }

// deletionOf returns the fields of a desired body that a delete compares with the live resource.
func deletionOf(body any) deletion {
	doc, err := document(body)
	if err != nil {
		return deletion{}
	}
	principal, _ := lookup(doc, "properties", "principalId").(string)
	return deletion{tagsOf(doc), principal}
}

// gone records that the resource does not exist. With a virtual machine it also records this for the resources that
// Azure deletes together with it.
func (p *Planner) gone(it *item) {
	if last := p.reader.last(it.ID); last != nil {
		if doc, err := document(last); err == nil {
			for _, id := range deletedWith(doc) {
				p.reader.store(id, nil)
			}
		}
	}
	p.reader.store(it.ID, nil)
	it.live, it.token = nil, Token{}
	it.done("Deleted")
}

// deletedWith returns the IDs of the network interfaces and disks of a virtual machine whose deleteOption
// is Delete.
func deletedWith(v any) []string {
	var ids []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			ids = append(ids, deletedWith(e)...)
		}
	case map[string]any:
		option := v["deleteOption"]
		if option == nil {
			option = lookup(v, "properties", "deleteOption")
		}
		if option, ok := option.(string); ok && strings.EqualFold(option, "Delete") {
			if id, ok := v["id"].(string); ok {
				ids = append(ids, id)
			}
			if id, ok := lookup(v, "managedDisk", "id").(string); ok {
				ids = append(ids, id)
			}
		}
		for _, e := range v {
			ids = append(ids, deletedWith(e)...)
		}
	}
	return ids
}

// lost reports whether the error means that a token is unusable; such an error says nothing about the resource.
func lost(err error) bool {
	return arm.ClassOf(err) == arm.Invalid && arm.CodeOf(err) == arm.CodeBadToken
}
