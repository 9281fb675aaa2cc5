package template

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
	"casement.dev/casement/internal/dotnet"
)

var arrayFunctions = functions{
	"createArray": func(_ *scope, a []any) any { return append([]any{}, a...) },
	"length":      unaryFunc(func(v any) any { return int64(lengthOf(v)) }),
	"empty":       unaryFunc(func(v any) any { return lengthOf(v) == 0 }),
	"first":       unaryFunc(func(v any) any { return single(part(v, 0, 1)) }),
	"last":        unaryFunc(func(v any) any { return single(part(v, int64(lengthOf(v))-1, math.MaxInt64)) }),
	"take":        binaryFunc(func(of any, n int64) any { return part(of, 0, n) }),
	"skip":        binaryFunc(func(of any, n int64) any { return part(of, n, math.MaxInt64) }),
	"contains":    binaryFunc(contains),
	"union":       union,
	"intersection": func(s *scope, a []any) any {
		if sameKind(a) == kindArray {
			others := each(a[1:], func(l any) map[string]bool {
				keys := map[string]bool{}
				for _, v := range l.([]any) {
					keys[datum.Key(v)] = true
				}
				return keys
			})
			return s.distinct(slices.DeleteFunc(slices.Clone(a[0].([]any)), func(v any) bool {
				key := datum.Key(v)
				return slices.ContainsFunc(others, func(keys map[string]bool) bool { return !keys[key] })
			}))
		}
		out := &datum.Object{}
		for k, v := range a[0].(*datum.Object).All() {
			if !slices.ContainsFunc(a[1:], func(o any) bool {
				w, ok := o.(*datum.Object).Get(k)
				return !ok || !datum.Equal(v, w)
			}) {
				out.Set(k, v)
			}
		}
		return out
	},
	"range": binaryFunc(func(start, n int64) any {
		const most, last = 10_000, math.MaxInt32
		if n < 0 || n > most || start > last || start+n-1 > last {
			fail("has parameters that are out of range: 'count' must be a positive integer no larger than %d and the sum of 'start index' and "+
				"'count' must be no larger than %d", most, last)
		}
		out := make([]any, n)
		for i := range out {
			out[i] = start + int64(i)
		}
		return out
	}),
	"min":          func(_ *scope, a []any) any { return extreme(a, -1) },
	"max":          func(_ *scope, a []any) any { return extreme(a, 1) },
	"flatten":      unaryFunc(func(lists []any) any { return slices.Concat(append(elements[[]any](lists, "arrays"), []any{})...) }),
	"distinct":     func(s *scope, a []any) any { return s.distinct(a[0].([]any)) },
	"indexFromEnd": binaryFunc(fromEnd),
	"tryIndexFromEnd": binaryFunc(func(of any, n int64) any {
		if list, _ := of.([]any); n > 0 && n <= int64(len(list)) {
			return fromEnd(list, n)
		}
		return nil
	}),
}

func lengthOf(v any) int {
	switch v := v.(type) {
	case string:
		return dotnet.Len(v)
	case []any:
		return len(v)
	case *datum.Object:
		return v.Len()
	}
	return 0
}

// part returns the elements or characters of an array or text from index from up to to, as far as
// they exist.
func part(v any, from, to int64) any {
	n := int64(lengthOf(v))
	from, to = min(max(from, 0), n), min(max(to, 0), n)
	if list, is := v.([]any); is {
		return append([]any{}, list[from:to]...)
	}
	return dotnet.FromUnits(dotnet.Units(v.(string))[from:to])
}

// single returns the only element of a part of an array, or null for an empty part; a part of a
// text is returned unchanged.
func single(part any) any {
	if list, is := part.([]any); is {
		return append(list, nil)[0]
	}
	return part
}

func contains(in, v any) any {
	key, isText := v.(string)
	switch in := in.(type) {
	case []any:
		return slices.ContainsFunc(in, func(e any) bool { return datum.Equal(e, v) })
	case *datum.Object:
		if isText {
			return in.Has(key)
		}
	case string:
		if isText {
			return strings.Contains(in, key)
		}
	}
	return fail("expects parameters of matching types: a dictionary and a key (string), an array and a value (object), or a string and a "+
		"substring. The provided types '%s' and '%s' are incompatible", kindOf(in), kindOf(v))
}

// sameKind returns the common type of all arguments.
func sameKind(a []any) kind {
	if slices.ContainsFunc(a, func(v any) bool { return kindOf(v) != kindOf(a[0]) }) {
		fail("expects parameters of the same type, but found multiple types")
	}
	return kindOf(a[0])
}

// elements returns the elements of a list, which must all have the type T.
func elements[T any](list []any, what string) []T {
	return each(list, func(v any) T {
		t, is := v.(T)
		if !is {
			fail("expects its parameter to be an array of %s. The provided array has a value of type '%s'", what, kindOf(v))
		}
		return t
	})
}

// distinct returns the list without repeated values.
func (s *scope) distinct(list []any) any {
	s.weigh(list)
	seen := map[string]bool{}
	return slices.DeleteFunc(append([]any{}, list...), func(v any) bool {
		key := datum.Key(v)
		was := seen[key]
		seen[key] = true
		return was
	})
}

func union(s *scope, a []any) any {
	if sameKind(a) == kindArray {
		return s.distinct(slices.Concat(each(a, func(v any) []any { return v.([]any) })...))
	}
	out := &datum.Object{}
	for _, v := range a {
		out = merge(out, v.(*datum.Object))
	}
	return out
}

// merge adds the properties of an object to another object: objects are merged, other values are
// replaced, and null changes nothing. The last spelling of a key counts.
func merge(into, from *datum.Object) *datum.Object {
	out := into.Without()
	for k, v := range from.All() {
		old, _ := out.Get(k)
		a, isObject := old.(*datum.Object)
		b, toObject := v.(*datum.Object)
		switch {
		case v == nil && out.Has(k):
			continue
		case isObject && toObject:
			v = merge(a, b)
		case old != nil && (isObject || toObject):
			fail("failed to evaluate due to a type mismatch between '%s' and '%s'", kindOf(old), kindOf(v))
		}
		out.Respell(k, v)
	}
	return out
}

func extreme(a []any, sign int) any {
	if list, is := a[0].([]any); is && len(a) == 1 {
		a = list
	}
	if len(a) == 0 || slices.ContainsFunc(a, func(v any) bool { return kindOf(v)&(kindInt|kindFloat) == 0 }) {
		fail("was invoked with arguments that are not valid: all function arguments should be of numeric types")
	}
	out := a[0]
	for _, v := range a[1:] {
		if compareNumbers(v, out)*sign > 0 {
			out = v
		}
	}
	return out
}

// compareNumbers orders integers and floats.
func compareNumbers(a, b any) int {
	of := func(v any) *big.Float {
		switch v := v.(type) {
		case int64:
			return new(big.Float).SetInt64(v)
		case *big.Int:
			return new(big.Float).SetInt(v)
		}
		return big.NewFloat(v.(float64))
	}
	if x, is := a.(float64); is && math.IsNaN(x) {
		return -1
	} else if y, is := b.(float64); is && math.IsNaN(y) {
		return 1
	}
	return of(a).Cmp(of(b))
}

func fromEnd(list []any, n int64) any {
	if n < 1 || n > int64(len(list)) {
		fail("has the index '%d', which is out of bounds; it has to be greater than zero", n)
	}
	return list[int64(len(list))-n]
}

var objectFunctions = functions{
	"createObject": func(_ *scope, a []any) any {
		if len(a)%2 != 0 {
			fail("expects an even number of parameters")
		}
		out := &datum.Object{}
		for i := 0; i < len(a); i += 2 {
			key, is := a[i].(string)
			if datum.IsLater(a[i]) {
				return datum.Later{}
			}
			if !is {
				fail("expects the parameters at an odd-numbered position to be of type 'string'. The parameter at position '%d' is of type '%s'",
					i+1, kindOf(a[i]))
			}
			out.Put(key, a[i+1])
		}
		return out
	},
	"shallowMerge": unaryFunc(func(list []any) any { return datum.Overlay(elements[*datum.Object](list, "objects")...) }),
	"items": unaryFunc(func(o *datum.Object) any {
		return each(sortedKeys(o), func(k any) any {
			v, _ := o.Get(k.(string))
			return datum.New("key", k, "value", v)
		})
	}),
	"objectKeys": unaryFunc(func(o *datum.Object) any { return sortedKeys(o) }),
	"coalesce": func(_ *scope, a []any) any {
		for _, v := range a {
			if _, wait := v.(datum.Later); wait {
				return datum.Later{}
			}
			if v != nil {
				return v
			}
		}
		return nil
	},
	"tryGet": tryGet,
}

func sortedKeys(o *datum.Object) []any {
	return anys(slices.SortedStableFunc(slices.Values(o.Keys()), func(a, b string) int {
		return strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
	}))
}

func tryGet(_ *scope, a []any) any {
	v := a[0]
	if l, is := v.(datum.Later); is && l.Known == nil || slices.ContainsFunc(a[1:], datum.IsLater) {
		return datum.Later{}
	}
	for i, key := range a[1:] {
		if v == nil && i == 0 {
			return nil
		}
		next, ok := property(v, key)
		if !ok && i == 0 {
			return nil
		}
		if !ok {
			failMissing(v, key)
		}
		v = next
	}
	return v
}
