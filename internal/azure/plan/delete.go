package plan

import (
	"context"
	"fmt"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// deleteHash is in the place of the body that a delete does not have.
const deleteHash = "delete"

// deleteOne brings one resource as far towards its end as this pass gets.
func (p *Planner) deleteOne(ctx context.Context, it *item) {
	if it.Policy == desired.Observe {
		it.done("Unmanaged")
		return
	}
	it.Body = deletion{tagged: tagged(it.Body)}
	if it.token.Verb != Delete && !it.token.empty() {
		// Whatever was under way ends with the resource.
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
	if d, ok := it.Body.(deletion); ok && d.tagged {
		want["tags"] = map[string]any{}
	}
	if !it.owned(have, want) {
		it.token = Token{}
		it.done("Unmanaged")
		it.status.Message = fmt.Sprintf("%s does not carry the tag %s=%s: it is left alone", describe(it.ID), it.owner.Key, it.owner.Value)
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

// deletion takes the place of a body while a resource is deleted, so that what is
// remembered of a failed delete does not depend on the spec.
type deletion struct{ tagged bool }

// MarshalJSON makes the same document for every resource.
func (deletion) MarshalJSON() ([]byte, error) { return []byte(`{"` + deleteHash + `":true}`), nil }

// tagged reports whether the spec would give the resource tags.
func tagged(body any) bool {
	doc, err := document(body)
	return err == nil && tagsOf(doc) != nil
}

// gone takes in that the resource does not exist, and with a virtual machine what
// Azure deletes with it.
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

// deletedWith finds the IDs beside a deleteOption Delete: a virtual machine's
// network interfaces and disks.
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

// lost says that a token leads nowhere, while the resource may be well.
func lost(err error) bool {
	return arm.ClassOf(err) == arm.Invalid && arm.CodeOf(err) == arm.CodeBadToken
}
