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

// trusted is the time for which overviews alone may confirm a list. An overview shows a change by the time of the
// resource's last change, which Azure documents for all resources but does not guarantee. Source:
// learn.microsoft.com/rest/api/resources/resources/list-by-resource-group, $expand.
const trusted = 6 * time.Hour

// refusedFor is the pause after a failed read of a group's overview.
const refusedFor = time.Hour

// mark is the time of a resource's last change, as Azure writes it, and its provisioning state.
type mark struct{ changed, state string }

// overview is one read of a whole resource group: the state and the time of the last change of each resource. While
// nothing changes, it replaces the lists of all resource types.
type overview struct {
	mu    sync.Mutex
	at    time.Time
	again time.Time // the time of the next read after a failure
	// marks are by resource type in lower case, then by the resource's key; nil without an overview.
	marks map[string]map[string]mark
	// reread is the time at which an unchanged list of the group was last read again; the reader's lock guards it.
	reread time.Time
}

// seen is an overview with the time of its read; marks are nil if the read failed.
type seen struct {
	at    time.Time
	marks map[string]map[string]mark
}

// of returns the marks of a collection's resources.
func (s seen) of(collection string) map[string]mark {
	return s.marks[strings.ToLower(arm.TypeOf(collection+"/x"))]
}

// overview returns the overview of a group that was read at or after a time.
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

// resting is the number of list TTLs for which an overview serves passes that events trigger, while casement writes
// nothing in the collection.
const resting = 5

// confirmed reports whether an expired list is still correct because no resource has changed since the previous
// overview or, without one, since the resources were read. The caller holds the list's lock.
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
	l.marks = o.of(collection) // for the list that is read next, or unchanged
	if !same || now.Sub(as.read) > trusted && r.rereads(group) {
		return false
	}
	l.at, l.read, l.items = o.at, as.read, items
	return true
}

// unchanged reports whether overview o confirms a list, given the marks of the previous overview. It returns the
// confirmed resources, and the time at which each was seen.
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

// touched returns the time at which casement last wrote a resource of a collection, or read one of them individually.
func (r *reader) touched(collection string) (last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, e := range r.own.in(collection) {
		for _, at := range []time.Time{e.at, r.children[key]} {
			if at.After(last) {
				last = at
			}
		}
	}
	return last
}

// confirmedGroup returns the entry of the cluster's own resource group, if the group's overview is valid. The tags are
// from the last read of the group.
func (r *reader) confirmedGroup(ctx context.Context, id string, own entry) (entry, bool) {
	age := r.now().Sub(own.at)
	if own.body == nil || own.stale || !isGroup(id) || age > trusted {
		return entry{}, false
	}
	o := r.overview(ctx, id, r.now().Add(-resting*r.ttl))
	return entry{at: o.at, body: own.body}, o.marks != nil
}

// ages are the times when the resources of a collection were last seen: own for resources that casement
// wrote, read for all others. read is never later than a time of own.
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

// written returns the resources of a collection in a new group, all of which casement wrote itself. If
// there are none, their age is now.
func (r *reader) written(collection string, now time.Time) (map[string]json.RawMessage, ages) {
	r.mu.Lock()
	defer r.mu.Unlock()
	items, as := map[string]json.RawMessage{}, ages{own: map[string]time.Time{}, read: now}
	for key, e := range r.own.in(collection) {
		if e.body == nil || e.stale {
			continue
		}
		items[key], as.own[key] = e.body, e.at
		if e.at.Before(as.read) {
			as.read = e.at
		}
	}
	return items, as
}

// rereads reports whether another unchanged list of a group may be read again. It permits one list per pass, so that
// not all lists are read at the same time.
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

// older reports whether every change happened before its resource was seen. If this machine's clock is behind Azure's,
// it returns false, and the lists are read.
func older(marks map[string]mark, as ages) bool {
	for key, m := range marks {
		changed, err := time.Parse(time.RFC3339Nano, m.changed)
		if err != nil || changed.After(as.of(key)) {
			return false
		}
	}
	return true
}

// inOverview reports whether overviews contain the resources of a collection: all resources in a group except child resources.
func inOverview(collection string) bool {
	return arm.GroupOf(collection) != "" && !isGroup(collection) && arm.ParentOf(collection+"/x") == ""
}

// complete reports whether an overview contains exactly the resources of a list, each with the time of its last change
// and without an operation in progress.
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
