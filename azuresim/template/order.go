package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// order notes what each resource depends on, and refuses duplicates and circles.
func (t *Template) order() error {
	seen := map[string]bool{}
	for _, r := range t.Resources {
		if r.Existing || r.skipped {
			continue
		}
		if lower := strings.ToLower(r.ID); seen[lower] {
			t.problem("the resource '%s' is defined multiple times in the template", r.ID)
		} else {
			seen[lower] = true
		}
	}
	for _, r := range t.Resources {
		if err := t.depend(r); err != nil {
			return fmt.Errorf("the template resource '%s' is not valid: %w", r.Name, err)
		}
	}
	t.sort()
	return nil
}

// depend finds what one resource depends on: its parent, dependsOn, and what it refers to.
func (t *Template) depend(r *Resource) error {
	on := map[*Resource]bool{}
	add := func(d *Resource) {
		if d != r && !on[d] {
			on[d] = true
			r.on = append(r.on, d)
		}
	}
	for _, d := range r.after {
		add(d)
	}
	if r.parent != nil {
		add(r.parent)
	}
	raw, ok := r.raw.Get("dependsOn")
	list, isList := raw.([]any)
	if ok && !isList && raw != nil {
		v, err := r.scope.value(raw)
		if list, isList = v.([]any); err != nil || !isList {
			return errors.Join(errors.New("'dependsOn' is no array"), err)
		}
	}
	for _, e := range list {
		v, err := r.scope.value(e)
		if err != nil {
			return err
		}
		name, is := v.(string)
		if !is {
			if isLater(v) || v == nil {
				continue
			}
			return fmt.Errorf("'dependsOn' has a value of type '%s'; it has names and IDs", kindOf(v))
		}
		found := t.loop(name)
		if one := t.find(name); one != nil && len(found) == 0 {
			found = []*Resource{one}
			if one == r {
				t.problem("circular dependency detected on resource: '%s'", r.ID)
			}
		}
		if _, empty := t.loops[strings.ToLower(name)]; len(found) == 0 && !empty {
			t.problem("the resource '%s' is not defined in the template", name)
		}
		for _, d := range found {
			add(d)
		}
	}
	if !r.skipped && !r.Existing {
		s := *r.scope
		s.seen = add
		body, err := r.bodyIn(&s)
		if err != nil {
			return err
		}
		if !isLater(body) {
			r.body = body
		}
	}
	return nil
}

// sort orders the resources so that each comes after those that it depends on.
func (t *Template) sort() {
	const (
		open = iota
		busy
		done
	)
	state := map[*Resource]int{}
	var out []*Resource
	var visit func(r *Resource)
	visit = func(r *Resource) {
		state[r] = busy
		for _, d := range r.on {
			switch state[d] {
			case open:
				visit(d)
			case busy:
				t.problem("circular dependency detected on resources: '%s', '%s'", d.ID, r.ID)
			}
		}
		state[r] = done
		out = append(out, r)
	}
	for _, r := range t.Resources {
		if state[r] == open {
			visit(r)
		}
	}
	t.Resources = out
	for _, r := range out {
		ids := map[string]bool{}
		through(r, func(d *Resource) { ids[d.ID] = true }, map[*Resource]bool{})
		delete(ids, r.ID)
		r.DependsOn = slices.Sorted(maps.Keys(ids))
	}
}

// through calls f for what r waits for: in place of resources that are not deployed, those that they depend on.
func through(r *Resource, f func(*Resource), visited map[*Resource]bool) {
	for _, d := range r.on {
		if visited[d] {
			continue
		}
		visited[d] = true
		if d.Deployed() {
			f(d)
		} else {
			through(d, f, visited)
		}
	}
}
