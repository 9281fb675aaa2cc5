package plan

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"casement.dev/casement/internal/azure/arm"
)

// invokeOne begins the action of one item, or polls it.
func (p *Planner) invokeOne(ctx context.Context, it *item) {
	if it.token.Resume != "" && p.poll(ctx, it) {
		return
	}
	if !p.blocked(it, Post, hashOf(it.Body)) {
		p.begin(ctx, it, Post, it.Body)
	}
}

// invoked records the end of an action, which has changed its resource.
func (p *Planner) invoked(it *item) {
	p.reader.forget(collectionOf(it.ID))
	it.done("")
}

// collection reads a list and keeps the order of its items.
func (r *reader) collection(ctx context.Context, collection, apiVersion string, fresh bool) ([]json.RawMessage, error) {
	l := r.listing(collection)
	l.mu.Lock()
	defer l.mu.Unlock()
	if fresh || l.items == nil || r.now().Sub(l.at) > r.ttl {
		at := r.now()
		items, err := r.list(ctx, collection, apiVersion)
		if err != nil {
			return nil, err
		}
		l.at, l.items = at, items
	}
	out := make([]json.RawMessage, 0, len(l.items))
	for _, id := range slices.Sorted(maps.Keys(l.items)) {
		out = append(out, l.items[id])
	}
	return out, nil
}

// Differences returns the fields in want that are missing or different in a live resource, each as "path: have ->
// want". The error names the document that cannot be read.
func Differences(live json.RawMessage, want any) ([]string, error) {
	have, err := document(live)
	if err != nil {
		return nil, err
	}
	wanted, err := document(want)
	if err != nil {
		return nil, err
	}
	return diff(have, wanted), nil
}

// actionOf splits the path of an action into the action's name and the ID of its resource.
func actionOf(path string) (action, id string) { return arm.NameOf(path), collectionOf(path) }
