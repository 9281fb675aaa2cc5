package template

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

func collectionFunctions() []function {
	return []function{
		{name: "createArray", eval: pure(func(a []any) any { return append([]any{}, a...) }), takesLater: true},
		{name: "length", eval: func(_ *scope, a []any) (any, error) { return int64(lengthOf(a[0])), nil }},
		{name: "empty", eval: func(_ *scope, a []any) (any, error) { return lengthOf(a[0]) == 0, nil }},
		{name: "first", eval: func(_ *scope, a []any) (any, error) { return end(a[0], 0) }},
		{name: "last", eval: func(_ *scope, a []any) (any, error) { return end(a[0], lengthOf(a[0])-1) }},
		{name: "take", eval: func(_ *scope, a []any) (any, error) { return part(a[0], 0, a[1].(int64)), nil }},
		{name: "skip", eval: func(_ *scope, a []any) (any, error) { return part(a[0], a[1].(int64), int64(lengthOf(a[0]))), nil }},
		{name: "contains", eval: contains},
		{name: "union", eval: union},
		{name: "intersection", eval: intersection},
		{name: "range", eval: rangeOf},
		{name: "min", eval: func(_ *scope, a []any) (any, error) { return extreme("min", a, -1) }},
		{name: "max", eval: func(_ *scope, a []any) (any, error) { return extreme("max", a, 1) }},
		{name: "flatten", eval: flatten},
		{name: "distinct", eval: func(s *scope, a []any) (any, error) {
			return s.distinct(a[0].([]any))
		}},
		{name: "indexFromEnd", eval: func(_ *scope, a []any) (any, error) { return fromEnd("indexFromEnd", a) }},
		{name: "tryIndexFromEnd", eval: func(_ *scope, a []any) (any, error) {
			if list, _ := a[0].([]any); a[1].(int64) < 1 || a[1].(int64) > int64(len(list)) {
				return nil, nil
			}
			return fromEnd("tryIndexFromEnd", a)
		}},
	}
}

func lengthOf(v any) int {
	switch v := v.(type) {
	case string:
		return utf16Len(v)
	case []any:
		return len(v)
	case *Object:
		return v.Len()
	}
	return 0
}

func end(v any, at int) (any, error) {
	switch v := v.(type) {
	case string:
		if v != "" {
			return fromUnits(units(v)[at : at+1]), nil
		}
		return "", nil
	case []any:
		if len(v) > 0 {
			return v[at], nil
		}
	}
	return nil, nil
}

func part(v any, from, to int64) any {
	n := int64(lengthOf(v))
	from, to = min(max(from, 0), n), min(max(to, 0), n)
	if list, is := v.([]any); is {
		return append([]any{}, list[from:to]...)
	}
	return fromUnits(units(v.(string))[from:to])
}

func contains(_ *scope, a []any) (any, error) {
	switch in := a[0].(type) {
	case []any:
		return slices.ContainsFunc(in, func(v any) bool { return equal(v, a[1]) }), nil
	case *Object:
		if key, is := a[1].(string); is {
			_, ok := in.Get(key)
			return ok, nil
		}
	case string:
		if t, is := a[1].(string); is {
			return strings.Contains(in, t), nil
		}
	}
	return nil, fmt.Errorf("the template function 'contains' expects parameters of matching types: a dictionary and a key (string), an "+
		"array and a value (object), or a string and a substring. The provided types '%s' and '%s' are incompatible",
		kindOf(a[0]), kindOf(a[1]))
}

// same reports that all arguments are arrays, or all are objects.
func same(name string, a []any) (arrays bool, err error) {
	for _, v := range a {
		if kindOf(v) != kindOf(a[0]) {
			return false, fmt.Errorf("the template language function '%s' expects parameters of the same type, but found multiple types", name)
		}
	}
	return kindOf(a[0]) == kindArray, nil
}

// distinct returns the list with each value once.
func (s *scope) distinct(list []any) (any, error) {
	out := []any{}
	seen := map[string]bool{}
	for _, v := range list {
		key := string(canonical(v))
		if err := s.spend(len(key) / 16); err != nil {
			return nil, err
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out, nil
}

// canonical returns a text that is the same for equal values.
func canonical(v any) []byte { return appendCanonical(nil, v) }

func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case *Object:
		b = append(b, '{')
		order := make([]int, v.Len())
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(v.keys[i], v.keys[j]) })
		for _, i := range order {
			b = append(appendText(b, v.keys[i]), ':')
			b = append(appendCanonical(b, v.values[i]), ',')
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(appendCanonical(b, e), ',')
		}
		return append(b, ']')
	}
	return appendJSON(b, v)
}

func union(s *scope, a []any) (any, error) {
	arrays, err := same("union", a)
	if err != nil {
		return nil, err
	}
	if arrays {
		var all []any
		for _, v := range a {
			all = append(all, v.([]any)...)
		}
		return s.distinct(all)
	}
	out := &Object{}
	for _, v := range a {
		if out, err = merge(out, v.(*Object)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds the properties of an object to those of another: objects are merged, other values
// replaced, null changes nothing.
func merge(into, from *Object) (*Object, error) {
	out := &Object{keys: slices.Clone(into.keys), values: slices.Clone(into.values), later: into.later || from.later}
	if len(out.keys) > many {
		out = &Object{}
		for k, v := range into.All() {
			out.Set(k, v)
		}
	}
	for k, v := range from.All() {
		i := out.find(k)
		if i < 0 {
			out.add(k, v)
			continue
		}
		old := out.values[i]
		a, isObject := old.(*Object)
		b, toObject := v.(*Object)
		switch {
		case v == nil:
			continue
		case isObject && toObject:
			m, err := merge(a, b)
			if err != nil {
				return nil, err
			}
			out.values[i] = m
		case old != nil && (isObject || toObject):
			return nil, fmt.Errorf("failed to evaluate due to a type mismatch between '%s' and '%s'", kindOf(old), kindOf(v))
		default:
			out.values[i] = v
		}
		out.keys[i] = k
	}
	return out, nil
}

func intersection(s *scope, a []any) (any, error) {
	arrays, err := same("intersection", a)
	if err != nil {
		return nil, err
	}
	if !arrays {
		out := &Object{}
		for k, v := range a[0].(*Object).All() {
			if !slices.ContainsFunc(a[1:], func(o any) bool {
				w, ok := o.(*Object).Get(k)
				return !ok || !equal(v, w)
			}) {
				out.Set(k, v)
			}
		}
		return out, nil
	}
	counts := make([]map[string]bool, len(a)-1)
	for i, l := range a[1:] {
		counts[i] = map[string]bool{}
		for _, v := range l.([]any) {
			counts[i][string(canonical(v))] = true
		}
	}
	list := slices.DeleteFunc(slices.Clone(a[0].([]any)), func(v any) bool {
		key := string(canonical(v))
		return slices.ContainsFunc(counts, func(m map[string]bool) bool { return !m[key] })
	})
	return s.distinct(list)
}

func rangeOf(_ *scope, a []any) (any, error) {
	start, n := a[0].(int64), a[1].(int64)
	const most, last = 10_000, 1<<31 - 1
	if n < 0 || n > most || start > last || start+n-1 > last {
		return nil, fmt.Errorf("parameters are out of range: 'count' must be a positive integer no "+
			"larger than %d and the sum of 'start index' and 'count' must be no larger than %d", most, last)
	}
	out := make([]any, n)
	for i := range out {
		out[i] = start + int64(i)
	}
	return out, nil
}

func extreme(name string, a []any, sign int) (any, error) {
	list := a
	if l, is := a[0].([]any); is && len(a) == 1 {
		list = l
	}
	bad := fmt.Errorf("the provided arguments for template language function '%s' are not valid: all function arguments should be of "+
		"numeric types", name)
	if len(list) == 0 {
		return nil, bad
	}
	for _, v := range list {
		if kindOf(v)&(kindInt|kindFloat) == 0 {
			return nil, bad
		}
	}
	out := list[0]
	for _, v := range list[1:] {
		if compareNumbers(v, out)*sign > 0 {
			out = v
		}
	}
	return out, nil
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
	return of(a).Cmp(of(b))
}

func flatten(_ *scope, a []any) (any, error) {
	out := []any{}
	for _, v := range a[0].([]any) {
		list, is := v.([]any)
		if !is {
			return nil, fmt.Errorf("expects its parameter to be an array of arrays. The provided array has a value of type '%s'", kindOf(v))
		}
		out = append(out, list...)
	}
	return out, nil
}

func fromEnd(name string, a []any) (any, error) {
	list, at := a[0].([]any), a[1].(int64)
	switch {
	case at < 1:
		return nil, fmt.Errorf("unable to evaluate the template language function '%s'. The index parameter must be greater than zero, "+
			"but an index of '%d' was received", name, at)
	case at > int64(len(list)):
		return nil, fmt.Errorf("unable to evaluate the template language function '%s'. The index '%d' is out of bounds", name, at)
	}
	return list[int64(len(list))-at], nil
}

func objectFunctions() []function {
	return []function{
		{name: "createObject", eval: createObject,
			takesLater: true},
		{name: "shallowMerge", eval: shallowMerge},
		{name: "items", eval: items},
		{name: "objectKeys", eval: func(_ *scope, a []any) (any, error) {
			out := []any{}
			for _, k := range sortedKeys(a[0].(*Object)) {
				out = append(out, k)
			}
			return out, nil
		}},
		{name: "coalesce", eval: coalesce, takesLater: true},
		{name: "tryGet", eval: tryGet, takesLater: true},
	}
}

func sortedKeys(o *Object) []string {
	keys := slices.Clone(o.keys)
	slices.SortStableFunc(keys, compareFold)
	return keys
}

func createObject(_ *scope, a []any) (any, error) {
	if len(a)%2 != 0 {
		return nil, errors.New("expects an even number of parameters")
	}
	out := &Object{}
	for i := 0; i < len(a); i += 2 {
		key, is := a[i].(string)
		if isLater(a[i]) {
			return nil, errLater
		}
		if !is {
			return nil, fmt.Errorf("expects the parameters at an odd-numbered position to be "+
				"of type 'string'. The parameter at position '%d' is of type '%s'", i+1, kindOf(a[i]))
		}
		set(out, key, a[i+1])
	}
	return out, nil
}

// set replaces the property of a key in any case, or adds it.
func set(o *Object, key string, v any) {
	if i := o.find(key); i >= 0 {
		key = o.keys[i]
	}
	o.Set(key, v)
}

func shallowMerge(_ *scope, a []any) (any, error) {
	out := &Object{}
	for _, v := range a[0].([]any) {
		o, is := v.(*Object)
		if !is {
			return nil, fmt.Errorf("expects its parameter to be an array of objects. The provided array has a value of type '%s'", kindOf(v))
		}
		for k, e := range o.All() {
			set(out, k, e)
		}
	}
	return out, nil
}

func items(_ *scope, a []any) (any, error) {
	out := []any{}
	for _, k := range sortedKeys(a[0].(*Object)) {
		v, _ := a[0].(*Object).Get(k)
		out = append(out, NewObject("key", k, "value", v))
	}
	return out, nil
}

func coalesce(s *scope, a []any) (any, error) {
	for _, v := range a {
		if _, is := v.(later); is {
			return s.laterOf(showCall("coalesce", a))
		}
		if v != nil {
			return v, nil
		}
	}
	return nil, nil
}

func tryGet(s *scope, a []any) (any, error) {
	if l, is := a[0].(later); is && l.known == nil {
		return s.laterOf(showCall("tryGet", a))
	}
	v := a[0]
	for i, key := range a[1:] {
		if _, is := key.(later); is {
			return s.laterOf(showCall("tryGet", a))
		}
		if v == nil && i == 0 {
			return nil, nil
		}
		next, ok, err := property(v, key)
		switch {
		case err != nil:
			return nil, err
		case !ok && i == 0:
			return nil, nil
		case !ok:
			return nil, missing(v, key)
		}
		v = next
	}
	return v, nil
}
