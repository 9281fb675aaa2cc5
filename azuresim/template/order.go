package template

import (
	"maps"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

// order determines the dependencies of each resource, reports duplicates and circles, and sorts the
// resources.
func (t *Template) order() {
	seen := map[string]bool{}
	for _, r := range t.Resources {
		lower := strings.ToLower(r.ID)
		if r.Deployed() && seen[lower] {
			t.problem("the resource '%s' is defined multiple times in the template", r.ID)
		}
		seen[lower] = seen[lower] || r.Deployed()
	}
	for _, r := range t.Resources {
		t.depend(r)
	}
	t.sort()
}

// depend determines the dependencies of one resource: its parent, dependsOn, and the resources that
// it refers to.
func (t *Template) depend(r *Resource) {
	defer within("the template resource '%s' is not valid", r.Name)
	on := map[*Resource]bool{r: true, nil: true}
	add := func(d *Resource) {
		if !on[d] {
			on[d] = true
			r.on = append(r.on, d)
		}
	}
	for _, d := range append(slices.Clone(r.after), r.parent) {
		add(d)
	}
	raw, _ := r.raw.Get("dependsOn")
	list, isList := raw.([]any)
	if raw != nil && !isList {
		if list, isList = r.scope.value(raw).([]any); !isList {
			fail("'dependsOn' is no array")
		}
	}
	for _, e := range list {
		switch v := r.scope.value(e).(type) {
		case nil, datum.Later:
		case string:
			for _, d := range t.named(r, v) {
				add(d)
			}
		default:
			fail("'dependsOn' has a value of type '%s'; it has names and IDs", kindOf(v))
		}
	}
	if r.Deployed() {
		s := *r.scope
		s.seen = add
		if body := r.bodyIn(&s); !datum.IsLater(body) {
			r.body = body
		}
	}
}

// named returns the resources that an entry of dependsOn names: all of a loop, or one.
func (t *Template) named(r *Resource, name string) []*Resource {
	if found, isLoop := t.loops[strings.ToLower(name)]; isLoop && len(found) > 0 {
		return found
	} else if one := t.find(name); one != nil {
		if one == r {
			t.problem("circular dependency detected on resource: '%s'", r.ID)
		}
		return []*Resource{one}
	} else if !isLoop {
		t.problem("the resource '%s' is not defined in the template", name)
	}
	return nil
}

// sort orders the resources so that each follows its dependencies. A resource that is not deployed
// is replaced by its own dependencies.
func (t *Template) sort() {
	var out []*Resource
	done := map[*Resource]bool{} // false while the dependencies of the resource are being visited
	var visit func(r *Resource)
	visit = func(r *Resource) {
		done[r] = false
		ids := map[string]bool{}
		for _, d := range r.on {
			if ended, begun := done[d]; !begun {
				visit(d)
			} else if !ended {
				t.problem("circular dependency detected on resources: '%s', '%s'", d.ID, r.ID)
			}
			for _, id := range cond(d.Deployed(), []string{d.ID}, d.DependsOn) {
				ids[id] = true
			}
		}
		done[r] = true
		delete(ids, r.ID)
		r.DependsOn = slices.Sorted(maps.Keys(ids))
		out = append(out, r)
	}
	for _, r := range t.Resources {
		if _, visited := done[r]; !visited {
			visit(r)
		}
	}
	t.Resources = out
}
