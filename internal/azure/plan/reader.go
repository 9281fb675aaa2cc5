package plan

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// reader answers reads of single resources from cached lists, one list per resource type and resource group. A resource
// that casement wrote is answered from the cached result of that write. Only a resource that is in neither is read alone.
type reader struct {
	client Client
	ttl    time.Duration
	now    func() time.Time

	mu    sync.Mutex
	lists map[string]*listing
	own   cached
	// overviews has the overviews by group.
	overviews map[string]*overview
	// groups has the times at which casement created resource groups: all resources created in them since then are
	// known without a list.
	groups map[string]time.Time
	// answers has the first responses to creates that have not ended.
	answers map[string]json.RawMessage
	// children has the times at which casement last wrote a child that is part of a resource's body: a body that was
	// read before does not contain that child.
	children map[string]time.Time
}

// entry is one resource as casement last read or wrote it.
type entry struct {
	at   time.Time
	body json.RawMessage // nil if the resource does not exist
	// stale is true if a write was sent whose outcome is not known.
	stale bool
}

// cached has the resources that casement read individually or wrote, by the key of their collection and by their own
// key. A pass looks only into the collections that it needs, so that its work does not grow with the number of all
// resources.
type cached map[string]map[string]entry

// in returns the resources of a collection.
func (c cached) in(collection string) map[string]entry { return c[arm.Key(collection)] }

// of returns the entry of a resource.
func (c cached) of(id string) (entry, bool) {
	key := arm.Key(id)
	e, ok := c[collectionOf(key)][key]
	return e, ok
}

func (c cached) set(id string, e entry) {
	key := arm.Key(id)
	collection := collectionOf(key)
	if c[collection] == nil {
		c[collection] = map[string]entry{}
	}
	c[collection][key] = e
}

// listing is one collection. Its lock is locked during a read, so that concurrent readers share that read.
type listing struct {
	mu sync.Mutex
	// at is the time at which items were last known to be correct; read is the time at which they were read.
	at, read time.Time
	items    map[string]json.RawMessage
	// marks are the change times that the last overview of the group listed, or nil without an
	// overview.
	marks map[string]mark
	// failure is the error of the last read, at the time failed. Readers that waited for this read share the error:
	// otherwise the calls of a cluster's machines, one after the other, would keep all workers busy while Azure does
	// not respond.
	failure error
	failed  time.Time
}

func newReader(c Client, ttl time.Duration, now func() time.Time) *reader {
	return &reader{
		client: c, ttl: ttl, now: now, lists: map[string]*listing{}, own: cached{}, overviews: map[string]*overview{},
		groups: map[string]time.Time{}, answers: map[string]json.RawMessage{}, children: map[string]time.Time{},
	}
}

// read returns a resource, or nil if it does not exist.
func (r *reader) read(ctx context.Context, id, apiVersion string) (json.RawMessage, error) {
	e, err := r.find(ctx, id, apiVersion)
	if err != nil || e.body == nil {
		return e.body, err
	}
	return r.withChildren(id, e), nil
}

// withChildren returns the body of a resource with the child resources that casement has written since the body was
// read, so that two new machines do not choose the same port.
func (r *reader) withChildren(id string, e entry) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := arm.Key(id)
	if !r.children[key].After(e.at) {
		return e.body
	}
	doc, err := document(e.body)
	properties, ok := doc["properties"].(map[string]any)
	if err != nil || !ok {
		return e.body
	}
	for collection, entries := range r.own {
		if collectionOf(collection) != key || !inline(collection+"/x") {
			continue
		}
		member := arm.NameOf(collection)
		for name := range properties {
			if strings.EqualFold(name, member) {
				member = name
			}
		}
		for child, own := range entries {
			if !own.at.After(e.at) || own.stale && own.body == nil {
				continue
			}
			children, _ := properties[member].([]any)
			children = slices.DeleteFunc(children, func(c any) bool { return strings.EqualFold(keyOf(c), arm.NameOf(child)) })
			if written, err := document(own.body); err == nil && own.body != nil {
				children = append(children, written)
			}
			properties[member] = children
		}
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return e.body
	}
	return body
}

func (r *reader) find(ctx context.Context, id, apiVersion string) (entry, error) {
	own, ok := r.fresh(id)
	if ok && !own.stale {
		return own, nil
	}
	if ok || alone(id) {
		if group, confirmed := r.confirmedGroup(ctx, id, own); confirmed {
			return group, nil
		}
		return r.get(ctx, id, apiVersion)
	}
	if parent := arm.ParentOf(id); parent != "" && inline(id) {
		return r.fromParent(ctx, id, parent, apiVersion)
	}
	return r.fromList(ctx, id, apiVersion)
}

// fresh returns the cached entry of a resource that casement wrote, if it is recent enough and no list was read after it.
func (r *reader) fresh(id string) (entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own, ok := r.own.of(id)
	if !ok || own.stale {
		return own, ok
	}
	return own, r.now().Sub(own.at) <= r.ttl
}

func (r *reader) get(ctx context.Context, id, apiVersion string) (entry, error) {
	body, err := r.client.Get(ctx, id, apiVersion)
	if nothing(err) {
		body, err = nil, nil
	}
	if err != nil {
		return entry{}, err
	}
	return r.store(id, body), nil
}

// nothing reports whether the error of a read means that the resource does not exist.
func nothing(err error) bool { return arm.ClassOf(err) == arm.NotFound || arm.Unnamable(err) }

func (r *reader) fromList(ctx context.Context, id, apiVersion string) (entry, error) {
	l, asked := r.listing(collectionOf(id)), r.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed.After(asked) {
		return entry{}, l.failure
	}
	if old := l.items == nil || r.now().Sub(l.at) > r.ttl; old && !r.confirmed(ctx, l, collectionOf(id)) {
		at := r.now()
		items, err := r.list(ctx, collectionOf(id), apiVersion)
		if err != nil {
			if ctx.Err() == nil {
				l.failure, l.failed = err, r.now()
			}
			return entry{}, err
		}
		l.at, l.read, l.items = at, at, items
		r.outdate(collectionOf(id), at)
	}
	return entry{at: l.at, body: l.items[arm.Key(id)]}, nil
}

// outdate drops the cached entries of a collection that are older than its list.
func (r *reader) outdate(collection string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.own.in(collection)
	maps.DeleteFunc(own, func(_ string, e entry) bool { return !e.stale && e.at.Before(at) && r.now().Sub(e.at) > r.ttl })
}

func (r *reader) listing(collection string) *listing {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := arm.Key(collection)
	if r.lists[key] == nil {
		r.lists[key] = &listing{}
		// Reading all resources of a group is meant to find resources of other programs, so it calls Azure.
		whole := arm.NameOf(key) == "resources"
		if at, fresh := r.groups[arm.Key(arm.GroupOf(collection))]; fresh && !whole && arm.ParentOf(collection+"/x") == "" {
			r.lists[key] = &listing{at: at, items: map[string]json.RawMessage{}}
		}
	}
	return r.lists[key]
}

func (r *reader) list(ctx context.Context, collection, apiVersion string) (map[string]json.RawMessage, error) {
	items := map[string]json.RawMessage{}
	for item, err := range r.client.List(ctx, collection, apiVersion) {
		if nothing(err) {
			// The group or the parent does not exist.
			return map[string]json.RawMessage{}, nil
		}
		if err != nil {
			return nil, err
		}
		var head struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(item, &head); err == nil && head.ID != "" {
			items[arm.Key(head.ID)] = item
		}
	}
	return items, nil
}

// fromParent finds a child in its parent's body.
func (r *reader) fromParent(ctx context.Context, id, parent, apiVersion string) (entry, error) {
	found, err := r.find(ctx, parent, apiVersion)
	if err != nil || found.body == nil {
		return entry{at: found.at}, err
	}
	var body struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var children []json.RawMessage
	if err := json.Unmarshal(found.body, &body); err != nil {
		return r.get(ctx, id, apiVersion)
	}
	for key, value := range body.Properties {
		if strings.EqualFold(key, kindOf(id)) {
			if err := json.Unmarshal(value, &children); err != nil {
				return r.get(ctx, id, apiVersion)
			}
		}
	}
	for _, child := range children {
		var head struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(child, &head); err == nil && strings.EqualFold(head.Name, arm.NameOf(id)) {
			return entry{at: found.at, body: child}, nil
		}
	}
	return entry{at: found.at}, nil
}

// store caches a resource that Azure returned; nil means that the resource was deleted.
func (r *reader) store(id string, body json.RawMessage) entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := entry{at: r.now(), body: body}
	r.own.set(id, e)
	r.wrote(id)
	delete(r.answers, arm.Key(id))
	if body == nil && alone(id) {
		r.dropGroup(arm.Key(id))
		delete(r.groups, arm.Key(id))
	}
	r.prune(id)
	return e
}

// wrote records that a child was read or written separately from its parent.
func (r *reader) wrote(id string) {
	if parent := arm.ParentOf(id); parent != "" && inline(id) {
		r.children[arm.Key(parent)] = r.now()
	}
}

// began stores the first response to a create that has not ended, if it has a body.
func (r *reader) began(id string, body json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(body) > 0 {
		r.answers[arm.Key(id)] = body
		r.own.set(id, entry{at: r.now(), body: body})
	}
}

// unanswered drops the response that began stored, because the operation has failed.
func (r *reader) unanswered(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.answers, arm.Key(id))
}

// created records that a resource group is new, so that its content is known.
func (r *reader) created(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isGroup(id) {
		r.groups[arm.Key(id)] = r.now()
	}
}

// answered returns the response to the request that began the operation on a resource, or nil.
func (r *reader) answered(id string) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers[arm.Key(id)]
}

// forget makes the next read request this resource from Azure.
func (r *reader) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, _ := r.own.of(id)
	r.own.set(id, entry{at: r.now(), body: last.body, stale: true})
	r.wrote(id)
}

// last returns the last known body of a resource, of any age, or nil.
func (r *reader) last(id string) json.RawMessage {
	r.mu.Lock()
	own, _ := r.own.of(id)
	l := r.lists[arm.Key(collectionOf(id))]
	r.mu.Unlock()
	if own.body != nil || l == nil {
		return own.body
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[arm.Key(id)]
}

// takes reports whether the fresh cached body of the resource id says that Azure deletes the resource with together with it.
func (r *reader) takes(id, with string) bool {
	own, known := r.fresh(id)
	if own.stale {
		return false
	}
	body := own.body
	r.mu.Lock()
	l := r.lists[arm.Key(collectionOf(id))]
	r.mu.Unlock()
	if !known && l != nil {
		l.mu.Lock()
		if r.now().Sub(l.at) <= r.ttl {
			body = l.items[arm.Key(id)]
		}
		l.mu.Unlock()
	}
	doc, err := document(body)
	return err == nil && body != nil && slices.ContainsFunc(deletedWith(doc), func(id string) bool { return strings.EqualFold(id, with) })
}

// dropGroup drops all entries of a resource group that was deleted.
func (r *reader) dropGroup(group string) {
	delete(r.overviews, group)
	dropUnder(r.lists, group)
	dropUnder(r.own, group)
	dropUnder(r.children, group)
}

// dropUnder drops the entries of the resources of a group.
func dropUnder[V any](m map[string]V, group string) {
	maps.DeleteFunc(m, func(key string, _ V) bool { return strings.HasPrefix(key, group+"/") })
}

// prune drops old entries of a resource's collection from time to time, so that the cache does not grow with every
// replaced machine.
func (r *reader) prune(id string) {
	const many = 1024
	if own := r.own.in(collectionOf(id)); len(own) >= many {
		maps.DeleteFunc(own, func(_ string, e entry) bool { return r.now().Sub(e.at) > r.ttl })
	}
}

// isGroup reports whether a resource is a resource group.
func isGroup(id string) bool {
	group := arm.GroupOf(id)
	return group != "" && arm.Key(group) == arm.Key(id)
}

// alone reports whether a resource is read individually: a group, or a resource assigned to a scope, whose list
// contains mostly resources of others.
func alone(id string) bool {
	if arm.GroupOf(id) == "" || isGroup(id) {
		return true
	}
	return strings.HasPrefix(strings.ToLower(arm.TypeOf(id)), "microsoft.authorization/")
}

// inline reports whether a child is part of its parent's body.
func inline(id string) bool {
	switch strings.ToLower(arm.TypeOf(id)) {
	case "microsoft.network/virtualnetworks/subnets", "microsoft.network/virtualnetworks/virtualnetworkpeerings",
		"microsoft.network/networksecuritygroups/securityrules", "microsoft.network/routetables/routes",
		"microsoft.network/loadbalancers/backendaddresspools", "microsoft.network/loadbalancers/inboundnatrules":
		return true
	}
	return false
}

// collectionOf returns the path of the list that contains a resource.
func collectionOf(id string) string { return id[:strings.LastIndex(id, "/")] }

// kindOf returns the last part of the resource type.
func kindOf(id string) string { return arm.NameOf(collectionOf(id)) }
