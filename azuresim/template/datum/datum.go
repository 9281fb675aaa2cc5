// Package datum contains the values of Azure's deployment templates: objects that keep the order of
// their properties and ignore the case of keys, exact integers, values that are known only at
// deployment, and JSON as the deployment service reads and writes it.
//
// It evaluates nothing and knows no function of the template language; package template does. The
// local Azure and the command line may import it.
package datum

import (
	"iter"
	"slices"
	"strings"
)

// A value of the language is nil, bool, int64, *big.Int (an integer of more than 64 bits, which no
// function accepts), float64, string, []any, *Object or Later.

// Object is an object of the language: it keeps the order of its properties and ignores the case of
// keys, but prefers an exact match.
type Object struct {
	keys   []string
	values []any
	index  map[string]int // by lower-case keys; nil while there are few
	later  bool           // a property, at any depth, is a Later
}

// many is the number of properties above which an Object has an index.
const many = 12

// New returns an object with the given pairs of a key and a value.
func New(pairs ...any) *Object {
	o := &Object{}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Len returns the number of properties; a nil object has none.
func (o *Object) Len() int { return len(o.Keys()) }

// Keys returns the keys, which the caller must not change; nil for a nil object.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// Values returns the values in the order of the keys; the caller must not change them.
func (o *Object) Values() []any {
	if o == nil {
		return nil
	}
	return o.values
}

// Has reports whether the object has a property with the key.
func (o *Object) Has(key string) bool { return o.find(key) >= 0 }

// find returns the index of a key, or -1.
func (o *Object) find(key string) int {
	if o == nil {
		return -1
	}
	if o.index == nil {
		if i := slices.Index(o.keys, key); i >= 0 {
			return i
		}
		return slices.IndexFunc(o.keys, func(k string) bool { return strings.EqualFold(k, key) })
	}
	i, ok := o.index[strings.ToLower(key)]
	switch {
	case !ok:
		return -1
	case o.keys[i] == key:
		return i
	}
	return max(i, slices.Index(o.keys, key))
}

// Get returns the property with a key.
func (o *Object) Get(key string) (any, bool) {
	if i := o.find(key); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// At returns the property with a key if it has the type T, otherwise the zero value.
func At[T any](o *Object, key string) T {
	v, _ := o.Get(key)
	t, _ := v.(T)
	return t
}

// Text returns the property with a key if it is a string, otherwise "".
func (o *Object) Text(key string) string { return At[string](o, key) }

// Object returns the property with a key if it is an object, otherwise nil.
func (o *Object) Object(key string) *Object { return At[*Object](o, key) }

// Set replaces the property with exactly this key, or adds it at the end.
func (o *Object) Set(key string, v any) {
	if i := o.find(key); i >= 0 && o.keys[i] == key {
		o.values[i], o.later = v, o.later || IsLater(v)
		return
	}
	o.add(key, v)
}

// Put replaces the property with a key, ignoring case, or adds it.
func (o *Object) Put(key string, v any) {
	if i := o.find(key); i >= 0 {
		key = o.keys[i]
	}
	o.Set(key, v)
}

// Respell replaces the property with a key, ignoring case, and its spelling, or adds it.
func (o *Object) Respell(key string, v any) {
	if i := o.find(key); i >= 0 {
		o.keys[i] = key
	}
	o.Put(key, v)
}

// Overlay returns an object with the properties of several objects; for equal keys, the last one
// counts.
func Overlay(objects ...*Object) *Object {
	out := &Object{}
	for _, o := range objects {
		for k, v := range o.All() {
			out.Put(k, v)
		}
	}
	return out
}

// Without returns the object without the properties of these keys.
func (o *Object) Without(keys ...string) *Object {
	out := &Object{}
	for k, v := range o.All() {
		if !slices.ContainsFunc(keys, func(w string) bool { return strings.EqualFold(w, k) }) {
			out.add(k, v)
		}
	}
	return out
}

// add adds a property with a new key.
func (o *Object) add(key string, v any) {
	from := len(o.keys)
	o.keys, o.values, o.later = append(o.keys, key), append(o.values, v), o.later || IsLater(v)
	if o.index == nil {
		if len(o.keys) <= many {
			return
		}
		o.index, from = map[string]int{}, 0
	}
	for i, k := range o.keys[from:] {
		fold := strings.ToLower(k)
		if _, known := o.index[fold]; !known {
			o.index[fold] = from + i
		}
	}
}

// All yields the properties in their order; none for a nil object.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i := 0; i < o.Len(); i++ {
			if !yield(o.keys[i], o.values[i]) {
				return
			}
		}
	}
}

// Later is a value that is known only when a resource is deployed. Text is the expression that
// yields it, in which known parts are replaced by their values; it is empty if the expression is
// the call that returned the Later. For a reference to a resource of the template, Known is the
// part of the value that the template contains, and Sealed means that the resource will have no
// other properties.
type Later struct {
	Text   string
	Known  any
	Sealed bool
}

// String returns the expression as it is written in a template.
func (l Later) String() string { return "[" + l.Text + "]" }

// IsLater reports whether a value is a Later or contains one.
func IsLater(v any) bool {
	switch v := v.(type) {
	case Later:
		return true
	case *Object:
		return v != nil && v.later
	case []any:
		return slices.ContainsFunc(v, IsLater)
	}
	return false
}

// Equal compares two values like the function equals: values of different types differ, texts are
// compared with case, and objects without regard to order.
func Equal(a, b any) bool {
	_, text := a.(string)
	_, other := b.(string)
	if text || other {
		return text == other && a == b
	}
	return Key(a) == Key(b)
}

// Key returns a text that is the same for equal values.
func Key(v any) string { return string(Encode(sorted(v))) }

// sorted returns a value with the keys of its objects in order, so that equal values are the same JSON.
func sorted(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = sorted(e)
		}
		return out
	case *Object:
		out := &Object{}
		for _, k := range slices.Sorted(slices.Values(v.Keys())) {
			e, _ := v.Get(k)
			out.add(k, sorted(e))
		}
		return out
	}
	return v
}
