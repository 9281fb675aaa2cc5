// Package value reads and changes JSON objects in the form of encoding/json. Of Azure it knows only
// how a resource refers to another. The packages below azuresim/internal may import it.
package value

import (
	"maps"
	"slices"
	"strings"
)

// Object is a JSON object as encoding/json decodes it. Resources keep this form from the request to
// the store and the answer, so that unknown properties are kept.
type Object = map[string]any

func Lower(s string) string { return strings.ToLower(s) }

func At(o Object, path ...string) any {
	var v any = o
	for _, p := range path {
		m, ok := v.(Object)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func Str(o Object, path ...string) string {
	s, _ := At(o, path...).(string)
	return s
}

func Bool(o Object, path ...string) bool {
	b, _ := At(o, path...).(bool)
	return b
}

func Int(o Object, path ...string) (int, bool) {
	f, ok := At(o, path...).(float64)
	return int(f), ok
}

func Sub(o Object, path ...string) Object {
	m, _ := At(o, path...).(Object)
	return m
}

// Items returns the objects of an array; other elements are left out.
func Items(o Object, path ...string) []Object {
	l, _ := At(o, path...).([]any)
	out := make([]Object, 0, len(l))
	for _, v := range l {
		if m, ok := v.(Object); ok {
			out = append(out, m)
		}
	}
	return out
}

func Texts(o Object, path ...string) []string {
	l, _ := At(o, path...).([]any)
	var out []string
	for _, v := range l {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Ensure returns the object under key; if it is missing, it adds an empty one.
func Ensure(o Object, key string) Object {
	if m, ok := o[key].(Object); ok {
		return m
	}
	m := Object{}
	o[key] = m
	return m
}

func Props(o Object) Object { return Ensure(o, "properties") }

// OrDefault returns s, or otherwise if s is empty.
func OrDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// SetDefault sets a key that is absent or null.
func SetDefault(o Object, key string, v any) {
	if o[key] == nil {
		o[key] = v
	}
}

func List(objects []Object) []any {
	out := make([]any, len(objects))
	for i, o := range objects {
		out[i] = o
	}
	return out
}

func Anys[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

func IDs(keys []string) []any {
	out := make([]any, len(keys))
	for i, k := range keys {
		out[i] = Object{"id": k}
	}
	return out
}

func Clone(v any) any {
	switch v := v.(type) {
	case Object:
		m := make(Object, len(v))
		for k, e := range v {
			m[k] = Clone(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = Clone(e)
		}
		return l
	}
	return v
}

func CloneObject(o Object) Object {
	if o == nil {
		return Object{}
	}
	return Clone(o).(Object)
}

// Merge applies patch as a JSON merge patch (RFC 7396), except that tags are
// replaced as a whole, as Compute and Network do.
func Merge(dst, patch Object) {
	for k, v := range patch {
		switch n := v.(type) {
		case nil:
			delete(dst, k)
		case Object:
			if old, ok := dst[k].(Object); ok && k != "tags" {
				Merge(old, n)
			} else {
				dst[k] = Clone(n)
			}
		default:
			dst[k] = Clone(v)
		}
	}
}

// References calls visit with each resource ID that o refers to: each string under a key "id" that
// is a resource ID.
func References(o any, visit func(id string)) {
	switch v := o.(type) {
	case Object:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "id" && isResourceID(s) {
				visit(s)
				continue
			}
			References(e, visit)
		}
	case []any:
		for _, e := range v {
			References(e, visit)
		}
	}
}

// VisitReferences calls visit with each resource ID that o refers to and the path to it: the names
// of the fields, without "properties" and without indexes of arrays.
func VisitReferences(o any, path []string, visit func(path []string, id string)) {
	switch v := o.(type) {
	case Object:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "id" && isResourceID(s) {
				visit(path, s)
			} else if strings.EqualFold(k, "properties") {
				VisitReferences(e, path, visit)
			} else {
				VisitReferences(e, append(path[:len(path):len(path)], k), visit)
			}
		}
	case []any:
		for _, e := range v {
			VisitReferences(e, path, visit)
		}
	}
}

// Unlink removes the references to an ID at a path, which has the form of VisitReferences.
func Unlink(o any, path []string, id string) {
	switch v := o.(type) {
	case []any:
		for _, e := range v {
			Unlink(e, path, id)
		}
	case Object:
		if p, ok := v["properties"].(Object); ok {
			v = p
		}
		points := func(e any) bool { o, ok := e.(Object); return ok && strings.EqualFold(Str(o, "id"), id) }
		list, isList := v[path[0]].([]any)
		switch {
		case len(path) > 1:
			Unlink(v[path[0]], path[1:], id)
		case isList:
			v[path[0]] = slices.DeleteFunc(list, points)
		case points(v[path[0]]):
			delete(v, path[0])
		}
	}
}

// Referenced returns the resource IDs that o refers to, in lower case, each once.
func Referenced(o Object) []string {
	var out []string
	References(o, func(id string) { out = append(out, Lower(id)) })
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}

func isResourceID(s string) bool {
	return len(s) > 15 && strings.EqualFold(s[:15], "/subscriptions/")
}

func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
