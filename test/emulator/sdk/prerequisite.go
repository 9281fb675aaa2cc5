package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// resource is a resource that must exist before an example can work.
type resource struct {
	id, typ  string
	location string
	// parts contains the names of its child resources to which other resources refer, by lower-case
	// type.
	parts map[string][]string
	// bare means that a machine without an OS profile is created from it.
	bare bool
}

// prerequisites collects the resources that a request needs, and creates them in order.
type prerequisites struct {
	stage    *stage
	location string
	// own is the ID of the resource that the request writes.
	own    string
	needed map[string]*resource // by lower-case ID
	made   map[string]bool
	asked  *request
}

// prepare creates all resources that a request needs.
func (s *stage) prepare(ctx context.Context, r *request) error {
	p := &prerequisites{stage: s, location: "eastus", needed: map[string]*resource{}, made: map[string]bool{}, asked: r}
	if l, ok := r.body["location"].(string); ok && l != "" && l != "global" {
		p.location = l
	}
	id, kind := owner(r.path)
	switch {
	case kind == whole && r.method == http.MethodPut:
		p.own = strings.ToLower(id)
		if parent := parentOf(id); parent != "" {
			p.need(parent)
		}
	case kind == part && r.method == http.MethodPut:
		p.need(id[:strings.LastIndex(id[:strings.LastIndex(id, "/")], "/")])
		p.own = strings.ToLower(id)
	case id != "":
		p.need(id)
	}
	for _, ref := range references(r.body) {
		if p.need(ref); typeOf(ref) == typeImage { // machines are created from it
			p.need(ref + "/versions/1.0.0")
			p.needed[strings.ToLower(ref)].bare = !hasMember(r.body, "osProfile")
		}
	}
	if g := groupOf(r.path); g != "" && p.own != strings.ToLower(g) && (r.method != http.MethodPut || !strings.EqualFold(g, r.path)) {
		p.need(g)
	}
	for _, key := range sortedKeys(p.needed) {
		if err := p.make(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// need records that an ID is referred to.
func (p *prerequisites) need(id string) {
	key := strings.ToLower(id)
	if p.own != "" && (key == p.own || strings.HasPrefix(key, p.own+"/")) {
		return
	}
	id, kind := owner(id)
	var partType, partName string
	if kind == part {
		segments := strings.Split(id, "/")
		n := len(segments)
		partType, partName = strings.ToLower(segments[n-2]), segments[n-1]
		id = strings.Join(segments[:n-2], "/")
	}
	if id == "" {
		return
	}
	if g := groupOf(id); g != "" && !strings.EqualFold(g, id) {
		p.need(g)
	}
	if parent := parentOf(id); parent != "" {
		p.need(parent)
	}
	key = strings.ToLower(id)
	if key == p.own {
		return
	}
	r := p.needed[key]
	if r == nil {
		r = &resource{id: id, typ: typeOf(id), location: p.location, parts: map[string][]string{}}
		p.needed[key] = r
	}
	if partName != "" && !slices.ContainsFunc(r.parts[partType], func(n string) bool { return strings.EqualFold(n, partName) }) {
		r.parts[partType] = append(r.parts[partType], partName)
	}
}

// make creates a resource after the resources that it needs.
func (p *prerequisites) make(ctx context.Context, key string) error {
	r := p.needed[key]
	if p.made[key] || r == nil {
		return nil
	}
	p.made[key] = true
	for _, before := range []string{groupOf(r.id), parentOf(r.id)} {
		if before != "" && !strings.EqualFold(before, r.id) {
			if err := p.make(ctx, strings.ToLower(before)); err != nil {
				return err
			}
		}
	}
	version, body, optional, err := bodyFor(r)
	if err != nil {
		return err
	}
	if body == nil {
		return nil // a resource that this program does not create: the example will fail if it needs it
	}
	refs := references(body)
	for _, ref := range refs {
		if !strings.HasPrefix(strings.ToLower(ref), key+"/") {
			p.need(ref)
		}
	}
	for _, ref := range refs {
		if id, kind := owner(ref); kind == part {
			ref = id[:strings.LastIndex(id[:strings.LastIndex(id, "/")], "/")]
		}
		if err := p.make(ctx, strings.ToLower(ref)); err != nil {
			return err
		}
	}
	if err := p.stage.put(ctx, r.id, version, body); err != nil && !optional {
		return fmt.Errorf("%s: %w", r.typ, err)
	}
	return nil
}

const typeImage = "microsoft.compute/galleries/images"

// hasMember reports whether an object in a JSON value has a member.
func hasMember(v any, name string) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			if k == name || hasMember(member, name) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasMember(e, name) })
	}
	return false
}

// references returns the resource IDs in a JSON value.
func references(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		var out []string
		for _, k := range sortedKeys(v) {
			out = append(out, references(v[k])...)
		}
		return out
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, references(e)...)
		}
		return out
	case string:
		if lower := strings.ToLower(v); strings.HasPrefix(lower, "/subscriptions/") && strings.Contains(lower, "/resourcegroups/") {
			return []string{v}
		}
	}
	return nil
}
