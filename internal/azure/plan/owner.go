package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"casement.dev/casement/internal/azure/arm"
)

// unknownOwner names the owner of a resource that has the cluster's tag but no mark, and that may not be
// claimed.
const unknownOwner = "an older cluster of the same name"

// foreignOwner returns the name of the other owner of a resource that has the cluster's tag, or "" if the resource
// belongs to this owner. A resource without tags has the owner of its parent. have is nil if the resource
// does not exist yet.
func (p *Planner) foreignOwner(ctx context.Context, it *item, have, want map[string]any) (string, error) {
	if want := tagsOf(want); want != nil {
		if have == nil {
			return "", nil
		}
		return it.owner.Other(ctx, texts(tagsOf(have)), texts(want)), nil
	}
	parent := arm.ParentOf(it.ID)
	if parent == "" {
		return "", nil
	}
	live, err := p.reader.read(ctx, parent, it.APIVersion)
	if err != nil || live == nil {
		return "", err
	}
	doc, err := document(live)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", describe(parent), err)
	}
	if tags := texts(tagsOf(doc)); tags[it.owner.Key] == it.owner.Value {
		return it.owner.Other(ctx, tags, map[string]string{it.owner.Mark.Key: it.owner.Mark.Value}), nil
	}
	return "", nil
}

// Other returns the owner of a resource that has the cluster's tag, or "" if the owner is the one in the tags want.
func (o Owner) Other(ctx context.Context, have, want map[string]string) string {
	for _, key := range []string{o.Mark.Key, o.Object.Key} {
		if key != "" && have[key] != "" && want[key] != "" && have[key] != want[key] {
			return have[key]
		}
	}
	if o.Mark.Value != "" && have[o.Mark.Key] == "" && o.Claims != nil && !o.Claims(ctx) {
		return unknownOwner
	}
	if o.Object.Value != "" && want[o.Object.Key] != "" && have[o.Object.Key] == "" && o.Claims != nil && !o.Claims(ctx) {
		return unknownOwner
	}
	return ""
}

// mine reports whether a resource belongs to this owner; if not, the status names the owner.
func (p *Planner) mine(ctx context.Context, it *item, have map[string]any) bool {
	want, err := document(it.Body)
	if err != nil {
		return true // the caller reports the error of the read
	}
	whose, err := p.foreignOwner(ctx, it, have, want)
	switch {
	case err != nil:
		it.unread(err)
	case whose != "":
		it.token = Token{}
		it.set(Failed, OwnedByAnother, fmt.Sprintf("%s belongs to %s: it is not changed; give %s another name", describe(it.ID), whose,
			cmp.Or(it.Field, "it")))
		it.status.RetryAfter = slowPause
	default:
		return true
	}
	return false
}

// OwnedByAnother is the reason of a resource that belongs to another owner.
const OwnedByAnother = "OwnedByAnother"

// claim prepares the write that adds the mark to a resource that has none. It reads the resource again,
// because not every resource type supports a conditional write. It returns false if the resource belongs to
// another owner by now.
func (p *Planner) claim(ctx context.Context, it *item, have map[string]any) bool {
	if it.owner.Mark.Value == "" || tagsOf(have) == nil || tagsOf(have)[it.owner.Mark.Key] != nil {
		return true
	}
	live, err := p.client.Get(ctx, it.ID, it.APIVersion)
	if err != nil {
		p.reader.forget(it.ID)
		it.unread(err)
		return false
	}
	p.reader.store(it.ID, live)
	var head struct {
		Tags map[string]any `json:"tags"`
	}
	if err := json.Unmarshal(live, &head); err != nil {
		it.unread(fmt.Errorf("read %s: %w", describe(it.ID), err))
		return false
	}
	return p.mine(ctx, it, map[string]any{"tags": head.Tags})
}

// texts returns the tags whose values are strings, which all tags in Azure are.
func texts(tags map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range tags {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	return out
}
