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
	// marks are by type in lower case, and there by the resource's key.
	marks map[string]map[string]mark
}

// overview returns what the overview of a group says of one type's resources and when it
// was read; ok is false where it cannot be had.
func (r *reader) overview(ctx context.Context, group, resourceType string) (marks map[string]mark, at time.Time, ok bool) {
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
		return nil, time.Time{}, false
	}
	if o.marks == nil || now.Sub(o.at) > r.ttl {
		read, err := r.readOverview(ctx, group)
		if err != nil {
			o.marks = nil
			if ctx.Err() == nil {
				o.again = now.Add(refusedFor)
			}
			return nil, time.Time{}, false
		}
		o.at, o.marks = now, read
	}
	return o.marks[strings.ToLower(resourceType)], o.at, true
}

func (r *reader) readOverview(ctx context.Context, group string) (map[string]map[string]mark, error) {
	marks := map[string]map[string]mark{}
	for item, err := range r.client.List(ctx, group+"/resources", desired.ResourcesAPIVersion, arm.Query("$expand", "changedTime,provisioningState")) {
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

// resting is how old a list has to be, in times of its life, before an overview is asked
// about it: what is asked for often belongs to something that changes.
const resting = 5

// confirmed says whether a list that is too old is still what Azure has, because nothing
// has been changed since the overview that was read before it. Its lock is held.
func (r *reader) confirmed(ctx context.Context, l *listing, collection string) bool {
	now := r.now()
	if l.read.IsZero() || !inOverview(collection) || now.Sub(l.at) < resting*r.ttl {
		l.marks = nil
		return false
	}
	before := l.marks
	marks, at, ok := r.overview(ctx, arm.GroupOf(collection), arm.TypeOf(collection+"/x"))
	l.marks = marks // of the list that is read next, or as they were
	if !ok || !maps.Equal(marks, before) || !complete(marks, l.items) || now.Sub(l.read) > trusted {
		return false
	}
	l.at = at
	return true
}

// inOverview says whether overviews show the resources of a collection: those that are in
// a group and in no other resource.
func inOverview(collection string) bool {
	group := arm.GroupOf(collection)
	return group != "" && arm.Key(group) != arm.Key(collection) && arm.ParentOf(collection+"/x") == ""
}

// complete says whether an overview names exactly the resources of a list, each with the
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
