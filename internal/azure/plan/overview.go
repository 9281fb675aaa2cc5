package plan

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// trusted is for how long overviews alone may confirm a list. They show that a resource
// was changed by the time of its last change, which Azure documents for all resources and
// promises for none.
// Source: learn.microsoft.com/rest/api/resources/resources/list-by-resource-group, $expand.
const trusted = 6 * time.Hour

// refusedFor is for how long a group is not asked for its overview again where that failed.
const refusedFor = time.Hour

// mark is when a resource was last changed, as Azure writes it, and its provisioning state.
type mark struct{ changed, state string }

// overview is one answer for a whole resource group: when each of its resources was last
// changed, and in what state it is. It replaces one list per type while nothing changes.
type overview struct {
	mu    sync.Mutex
	at    time.Time
	again time.Time // after a failure
	// marks are by type in lower case, and there by the resource's key; nil for none.
	marks map[string]map[string]mark
	// reread is when a list of the group was last read without need; the reader's lock
	// guards it.
	reread time.Time
}

// seen is an overview as of a time; without marks it cannot be had.
type seen struct {
	at    time.Time
	marks map[string]map[string]mark
}

// of returns the marks of a collection's resources.
func (s seen) of(collection string) map[string]mark {
	return s.marks[strings.ToLower(arm.TypeOf(collection+"/x"))]
}

// overview returns the overview of a group, read since a time.
func (r *reader) overview(ctx context.Context, group string, since time.Time) seen {
	r.mu.Lock()
	o := r.overviews[arm.Key(group)]
	if o == nil {
		o = &overview{}
		r.overviews[arm.Key(group)] = o
	}
	r.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	now := r.now()
	if now.Before(o.again) {
		return seen{}
	}
	if o.marks == nil || o.at.Before(since) {
		read, err := r.readOverview(ctx, group)
		if err != nil {
			o.marks = nil
			if ctx.Err() == nil {
				o.again = now.Add(refusedFor)
			}
			return seen{}
		}
		o.at, o.marks = now, read
	}
	return seen{o.at, o.marks}
}

func (r *reader) readOverview(ctx context.Context, group string) (map[string]map[string]mark, error) {
	marks := map[string]map[string]mark{}
	for item, err := range r.client.List(ctx, group+"/resources", desired.ResourcesAPIVersion,
		arm.Query("$expand", "changedTime,provisioningState")) {
		if err != nil {
			return nil, err
		}
		var head struct{ ID, Type, ChangedTime, ProvisioningState string }
		if err := json.Unmarshal(item, &head); err != nil {
			return nil, err
		}
		kind := strings.ToLower(head.Type)
		if marks[kind] == nil {
			marks[kind] = map[string]mark{}
		}
		marks[kind][arm.Key(head.ID)] = mark{head.ChangedTime, head.ProvisioningState}
	}
	return marks, nil
}

// resting is how long an overview serves looks that events trigger, in times of the life of a
// list, where casement has written nothing since.
const resting = 5

// confirmed reports whether a list that is too old is still what Azure has, because nothing
// has been changed since: since the overview that was read before it or, where there was
// none, since its resources were read. Its lock is held.
func (r *reader) confirmed(ctx context.Context, l *listing, collection string) bool {
	if l.items == nil || !inOverview(collection) {
		l.marks = nil
		return false
	}
	now, group, since := r.now(), arm.GroupOf(collection), r.now().Add(-resting*r.ttl)
	if !r.touched(collection).Before(since) {
		since = now.Add(-r.ttl)
	}
	before := l.marks
	o := r.overview(ctx, group, since)
	items, as, same := r.unchanged(l, before, o, collection)
	if fresh := now.Add(-r.ttl); !same && o.at.Before(fresh) {
		o = r.overview(ctx, group, fresh)
		items, as, same = r.unchanged(l, before, o, collection)
	}
	l.marks = o.of(collection) // of the list that is read next, or as they were
	if !same || now.Sub(as.read) > trusted && r.rereads(group) {
		return false
	}
	l.at, l.read, l.items = o.at, as.read, items
	return true
}

// unchanged reports whether an overview confirms a list, given the marks of the overview before.
// It returns the resources that it confirms, and when each was seen.
func (r *reader) unchanged(l *listing, before map[string]mark, o seen, collection string) (map[string]json.RawMessage, ages, bool) {
	items, as := l.items, ages{read: l.read}
	if l.read.IsZero() {
		items, as = r.written(collection, o.at)
	}
	marks := o.of(collection)
	switch {
	case o.marks == nil, !complete(marks, items), r.partial(items, as):
		return nil, ages{}, false
	case before != nil:
		return items, as, maps.Equal(marks, before)
	}
	return items, as, older(marks, as)
}

// touched returns when casement last wrote or read a resource of a collection by itself.
func (r *reader) touched(collection string) (last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, e := range r.own {
		if collectionOf(key) == arm.Key(collection) {
			for _, at := range []time.Time{e.at, r.children[key]} {
				if at.After(last) {
					last = at
				}
			}
		}
	}
	return last
}

// confirmedGroup returns the entry of the cluster's own resource group, if its overview is
// still valid. The tags are those of the last read.
func (r *reader) confirmedGroup(ctx context.Context, id string, own entry) (entry, bool) {
	age := r.now().Sub(own.at)
	if own.body == nil || own.stale || !isGroup(id) || age > trusted {
		return entry{}, false
	}
	o := r.overview(ctx, id, r.now().Add(-resting*r.ttl))
	return entry{at: o.at, body: own.body}, o.marks != nil
}

// ages says when each resource of a collection was last seen: own those that casement wrote
// itself, read, which is never later, all others.
type ages struct {
	own  map[string]time.Time
	read time.Time
}

func (a ages) of(key string) time.Time {
	if at, ok := a.own[key]; ok {
		return at
	}
	return a.read
}

// written returns the resources of a new group's collection, which casement made itself;
// now is their age where there is none.
func (r *reader) written(collection string, now time.Time) (map[string]json.RawMessage, ages) {
	r.mu.Lock()
	defer r.mu.Unlock()
	items, as := map[string]json.RawMessage{}, ages{own: map[string]time.Time{}, read: now}
	for key, e := range r.own {
		if e.body == nil || e.stale || collectionOf(key) != arm.Key(collection) {
			continue
		}
		items[key], as.own[key] = e.body, e.at
		if e.at.Before(as.read) {
			as.read = e.at
		}
	}
	return items, as
}

// rereads reports whether one more list of a group may be read again although nothing has
// changed: one for each look, so that they do not come all at once.
func (r *reader) rereads(group string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.overviews[arm.Key(group)]
	if o == nil || r.now().Sub(o.reread) < resting*r.ttl {
		return false
	}
	o.reread = r.now()
	return true
}

// partial reports whether casement wrote a part of a resource after the resource was seen.
func (r *reader) partial(items map[string]json.RawMessage, as ages) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range items {
		if r.children[key].After(as.of(key)) {
			return true
		}
	}
	return false
}

// older reports whether every change was before its resource was seen. Where this machine's
// clock is behind Azure's none is, and the lists are read.
func older(marks map[string]mark, as ages) bool {
	for key, m := range marks {
		changed, err := time.Parse(time.RFC3339Nano, m.changed)
		if err != nil || changed.After(as.of(key)) {
			return false
		}
	}
	return true
}

// inOverview reports whether overviews show the resources of a collection: those that are
// in a group and in no other resource.
func inOverview(collection string) bool {
	return arm.GroupOf(collection) != "" && !isGroup(collection) && arm.ParentOf(collection+"/x") == ""
}

// complete reports whether an overview names exactly the resources of a list, each with the
// time of its last change and with no operation under way.
func complete(marks map[string]mark, items map[string]json.RawMessage) bool {
	if len(marks) != len(items) {
		return false
	}
	for key := range items {
		if m := marks[key]; m.changed == "" || m.state != "Succeeded" {
			return false
		}
	}
	return true
}
