package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A value of the language is nil, bool, int64, *big.Int (an integer of more than 64 bits, which
// no function takes), float64, string, []any, *Object, later or *lambda.

// Object is an object of the language: it keeps the order of its properties and finds them
// without regard to case, an exact match first.
type Object struct {
	keys   []string
	values []any
	index  map[string]int // of folded keys, once there are many
	later  bool           // a property, however deep, is known later only
}

// many is the number of properties from which an Object has an index.
const many = 12

// NewObject returns an object of pairs of a key and a value.
func NewObject(pairs ...any) *Object {
	o := &Object{}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Len returns the number of properties; a nil object has none.
func (o *Object) Len() int { return len(o.keysOf()) }

// keysOf returns the keys; those of a nil object are none.
func (o *Object) keysOf() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// find returns the place of a key, or -1.
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
	if !ok || o.keys[i] == key {
		return cond(ok, i, -1)
	}
	return max(i, slices.Index(o.keys, key))
}

// cond returns one of two values.
func cond[T any](is bool, then, other T) T {
	if is {
		return then
	}
	return other
}

// Get returns the property of a key.
func (o *Object) Get(key string) (any, bool) {
	if i := o.find(key); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// at returns the property of a key if it has the type T, else the zero value.
func at[T any](o *Object, key string) T {
	v, _ := o.Get(key)
	t, _ := v.(T)
	return t
}

// Text returns the property of a key if it is a text, else "".
func (o *Object) Text(key string) string { return at[string](o, key) }

// Object returns the property of a key if it is an object, else nil.
func (o *Object) Object(key string) *Object { return at[*Object](o, key) }

// Set replaces the property of the key in this exact spelling, or adds it at the end.
func (o *Object) Set(key string, v any) {
	if i := o.find(key); i >= 0 && o.keys[i] == key {
		o.values[i], o.later = v, o.later || isLater(v)
		return
	}
	o.add(key, v)
}

// put replaces the property of a key in any case, or adds it.
func (o *Object) put(key string, v any) {
	if i := o.find(key); i >= 0 {
		key = o.keys[i]
	}
	o.Set(key, v)
}

// overlay returns an object of the properties of several: the last one of a key counts.
func overlay(objects ...*Object) *Object {
	out := &Object{}
	for _, o := range objects {
		for k, v := range o.All() {
			out.put(k, v)
		}
	}
	return out
}

// without returns the object without the properties of these keys.
func (o *Object) without(keys ...string) *Object {
	out := &Object{}
	for k, v := range o.All() {
		if !slices.ContainsFunc(keys, func(w string) bool { return strings.EqualFold(w, k) }) {
			out.add(k, v)
		}
	}
	return out
}

// add adds a property that is not there yet.
func (o *Object) add(key string, v any) {
	from := len(o.keys)
	o.keys, o.values, o.later = append(o.keys, key), append(o.values, v), o.later || isLater(v)
	if o.index == nil {
		if len(o.keys) <= many {
			return
		}
		o.index, from = map[string]int{}, 0
	}
	for i, k := range o.keys[from:] {
		if fold := strings.ToLower(k); !has(o.index, fold) {
			o.index[fold] = from + i
		}
	}
}

func has[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}

// All returns the properties in their order; those of a nil object are none.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i := 0; i < o.Len(); i++ {
			if !yield(o.keys[i], o.values[i]) {
				return
			}
		}
	}
}

// later is a value that is known when a resource is deployed only: the text of the expression
// that yields it, with what is known put in. known is what the template itself says of it, for
// references to resources of the template; sealed says that there will be no other properties.
// Without a text it is the call that yielded it.
type later struct {
	text   string
	known  any
	sealed bool
}

// isLater reports whether a value, or something in it, is known later only.
func isLater(v any) bool {
	switch v := v.(type) {
	case later:
		return true
	case *Object:
		return v != nil && v.later
	case []any:
		return slices.ContainsFunc(v, isLater)
	}
	return false
}

// A kind is a set of types of values.
type kind uint16

const (
	kindNull kind = 1 << iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindArray
	kindObject
	kindLambda
	kindAny = kindNull | kindBool | kindInt | kindFloat | kindString | kindArray | kindObject
)

// kindNames are the types as messages of Azure name them and as signatures of functions do.
var kindNames = []struct {
	kind        kind
	name, short string
}{
	{kindInt, "Integer", "int"}, {kindString, "String", "string"}, {kindBool, "Boolean", "bool"}, {kindObject, "Object", "object"},
	{kindArray, "Array", "array"}, {kindFloat, "Float", "float"}, {kindNull, "Null", "null"}, {kindLambda, "Function", "lambda"},
}

func (k kind) String() string {
	var out []string
	for _, n := range kindNames {
		if k&n.kind != 0 {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, ", ")
}

func kindOf(v any) kind {
	switch v.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBool
	case int64, *big.Int:
		return kindInt
	case float64:
		return kindFloat
	case string:
		return kindString
	case []any:
		return kindArray
	case *Object:
		return kindObject
	case *lambda:
		return kindLambda
	}
	return kindAny // known later
}

// tooLarge reports an integer of more than 64 bits.
func tooLarge(v any) bool {
	_, is := v.(*big.Int)
	return is
}

// equal compares as equals does: types differ, texts by their letters, objects without
// regard to order.
func equal(a, b any) bool {
	if _, isText := a.(string); isText {
		return a == b
	}
	return kindOf(a) == kindOf(b) && keyOf(a) == keyOf(b)
}

// keyOf returns a text that is the same for equal values.
func keyOf(v any) string { return string(Encode(sorted(v))) }

// sorted returns a value with the keys of its objects in order, so that equal values are the same JSON.
func sorted(v any) any {
	switch v := v.(type) {
	case []any:
		return each(v, sorted)
	case *Object:
		out := &Object{}
		for _, k := range slices.Sorted(slices.Values(v.keysOf())) {
			e, _ := v.Get(k)
			out.add(k, sorted(e))
		}
		return out
	}
	return v
}

// each returns what a function makes of each element.
func each[E, T any](list []E, do func(E) T) []T {
	out := make([]T, len(list))
	for i, e := range list {
		out[i] = do(e)
	}
	return out
}

// anys returns texts as a list of the language.
func anys(list []string) []any { return each(list, func(s string) any { return s }) }

// compareFold orders texts by their letters without regard to case.
func compareFold(a, b string) int { return cmp.Compare(strings.ToUpper(a), strings.ToUpper(b)) }

// MarshalJSON implements json.Marshaler.
func (o *Object) MarshalJSON() ([]byte, error) { return Encode(o), nil }

// Encode returns the compact JSON of a value. What is known later only is the text of its
// expression.
func Encode(v any) []byte { return appendJSON(nil, v, '"') }

func appendJSON(b []byte, v any, quote byte) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case *big.Int:
		return v.Append(b, 10)
	case float64:
		return append(b, floatText(v)...)
	case string:
		return appendText(b, v, quote)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e, quote)
		}
		return append(b, ']')
	case *Object:
		b = append(b, '{')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, v.keys[i], quote), ':')
			b = appendJSON(b, v.values[i], quote)
		}
		return append(b, '}')
	case later:
		return appendText(b, "["+v.text+"]", quote)
	}
	return append(b, "null"...)
}

// floatText returns a number as .NET's JSON has it: with a point, so that it stays a float.
func floatText(f float64) string {
	s := shortest(f)
	switch {
	case strings.ContainsAny(s, "Ny"):
		return `"` + s + `"`
	case !strings.ContainsAny(s, ".E"):
		return s + ".0"
	}
	return s
}

func appendText(b []byte, s string, quote byte) []byte {
	b = append(b, quote)
	for _, r := range s {
		switch i := strings.IndexRune("\n\r\t\b\f", r); {
		case r == rune(quote) || r == '\\':
			b = append(b, '\\', byte(r))
		case i >= 0:
			b = append(b, '\\', "nrtbf"[i])
		case r < ' ' || r == 0x85 || r == 0x2028 || r == 0x2029:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, quote)
}

// Plain returns a value in the form of encoding/json, integers as float64.
func Plain(v any) (plain any) {
	_ = json.Unmarshal(Encode(v), &plain) // what Encode returns is JSON
	return plain
}

// Of returns the value of the form of encoding/json, keys sorted.
func Of(plain any) any {
	data, _ := json.Marshal(plain)
	v, _ := Decode(data)
	return v
}
