package arm

import (
	"maps"
	"slices"
	"strings"
)

// object is a JSON object as encoding/json decodes it. Resources stay in this
// form from the wire to the store and back, so that properties unknown here
// survive.
type object = map[string]any

func lower(s string) string { return strings.ToLower(s) }

func value(o object, path ...string) any {
	var v any = o
	for _, p := range path {
		m, ok := v.(object)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func str(o object, path ...string) string {
	s, _ := value(o, path...).(string)
	return s
}

func boolean(o object, path ...string) bool {
	b, _ := value(o, path...).(bool)
	return b
}

func number(o object, path ...string) (int, bool) {
	f, ok := value(o, path...).(float64)
	return int(f), ok
}

func sub(o object, path ...string) object {
	m, _ := value(o, path...).(object)
	return m
}

// items are the objects of an array; other elements are left out.
func items(o object, path ...string) []object {
	l, _ := value(o, path...).([]any)
	out := make([]object, 0, len(l))
	for _, v := range l {
		if m, ok := v.(object); ok {
			out = append(out, m)
		}
	}
	return out
}

func texts(o object, path ...string) []string {
	l, _ := value(o, path...).([]any)
	var out []string
	for _, v := range l {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// ensure returns the object under key, made if it is not there.
func ensure(o object, key string) object {
	if m, ok := o[key].(object); ok {
		return m
	}
	m := object{}
	o[key] = m
	return m
}

func props(o object) object { return ensure(o, "properties") }

// orDefault is s, or what stands for it when it is empty.
func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// setDefault sets a key that is absent or null.
func setDefault(o object, key string, v any) {
	if o[key] == nil {
		o[key] = v
	}
}

func list(objects []object) []any {
	out := make([]any, len(objects))
	for i, o := range objects {
		out[i] = o
	}
	return out
}

func anys[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

func ids(keys []string) []any {
	out := make([]any, len(keys))
	for i, k := range keys {
		out[i] = object{"id": k}
	}
	return out
}

func clone(v any) any {
	switch v := v.(type) {
	case object:
		m := make(object, len(v))
		for k, e := range v {
			m[k] = clone(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = clone(e)
		}
		return l
	}
	return v
}

func cloneObject(o object) object {
	if o == nil {
		return object{}
	}
	return clone(o).(object)
}

// merge applies patch as a JSON merge patch (RFC 7396), except that tags are
// replaced as a whole, as Compute and Network do.
func merge(dst, patch object) {
	for k, v := range patch {
		switch n := v.(type) {
		case nil:
			delete(dst, k)
		case object:
			if old, ok := dst[k].(object); ok && k != "tags" {
				merge(old, n)
			} else {
				dst[k] = clone(n)
			}
		default:
			dst[k] = clone(v)
		}
	}
}

// references lists the resource IDs that o points to, in lower case: each
// string under a key "id" (or "resourceId") that is one.
func references(o any, visit func(id string)) {
	switch v := o.(type) {
	case object:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "id" && isResourceID(s) {
				visit(s)
				continue
			}
			references(e, visit)
		}
	case []any:
		for _, e := range v {
			references(e, visit)
		}
	}
}

// visitReferences calls visit with each resource ID that o points to and the
// path to it: names of fields, without "properties" and indexes of arrays.
func visitReferences(o any, path []string, visit func(path []string, id string)) {
	switch v := o.(type) {
	case object:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "id" && isResourceID(s) {
				visit(path, s)
			} else if strings.EqualFold(k, "properties") {
				visitReferences(e, path, visit)
			} else {
				visitReferences(e, append(path[:len(path):len(path)], k), visit)
			}
		}
	case []any:
		for _, e := range v {
			visitReferences(e, path, visit)
		}
	}
}

// unlink takes the references to an ID away that are at a path, which is one as
// visitReferences gives it.
func unlink(o any, path []string, id string) {
	switch v := o.(type) {
	case []any:
		for _, e := range v {
			unlink(e, path, id)
		}
	case object:
		if p, ok := v["properties"].(object); ok {
			v = p
		}
		points := func(e any) bool { o, ok := e.(object); return ok && strings.EqualFold(str(o, "id"), id) }
		list, isList := v[path[0]].([]any)
		switch {
		case len(path) > 1:
			unlink(v[path[0]], path[1:], id)
		case isList:
			v[path[0]] = slices.DeleteFunc(list, points)
		case points(v[path[0]]):
			delete(v, path[0])
		}
	}
}

// referenced are the resource IDs that o points to, in lower case, each once.
func referenced(o object) []string {
	var out []string
	references(o, func(id string) { out = append(out, lower(id)) })
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}

func isResourceID(s string) bool {
	return len(s) > 15 && strings.EqualFold(s[:15], "/subscriptions/")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
