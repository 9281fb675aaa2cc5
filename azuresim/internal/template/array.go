package template

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return len(v)
	case object:
		return len(v)
	}
	return 0
}

func contains(_ *scope, a []any) (any, error) {
	switch in := a[0].(type) {
	case string:
		return strings.Contains(in, asText(a[1])), nil
	case []any:
		return slices.ContainsFunc(in, func(v any) bool { return reflect.DeepEqual(v, a[1]) }), nil
	case object:
		_, err := member(in, asText(a[1]))
		return err == nil, nil
	}
	return false, nil
}

// end returns the first or the last element of an array, or character of a text.
func end(v any, first bool) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return ""
		}
		if first {
			return v[:1]
		}
		return v[len(v)-1:]
	case []any:
		if len(v) == 0 {
			return nil
		}
		if first {
			return v[0]
		}
		return v[len(v)-1]
	}
	return nil
}

func cut(a []any, head bool) (any, error) {
	f, ok := a[1].(float64)
	if !ok {
		return nil, fmt.Errorf("%v is no number", a[1])
	}
	n := min(max(0, int(f)), size(a[0]))
	switch v := a[0].(type) {
	case string:
		if head {
			return v[:n], nil
		}
		return v[n:], nil
	case []any:
		if head {
			return v[:n], nil
		}
		return v[n:], nil
	}
	return nil, fmt.Errorf("%v is neither text nor array", a[0])
}

func union(_ *scope, a []any) (any, error) {
	if _, ok := a[0].(object); ok {
		out := object{}
		for _, v := range a {
			o, ok := v.(object)
			if !ok {
				return nil, fmt.Errorf("objects and others cannot be united")
			}
			maps.Copy(out, o)
		}
		return out, nil
	}
	out := []any{}
	for _, v := range a {
		l, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("%v is neither array nor object", v)
		}
		for _, e := range l {
			if !slices.ContainsFunc(out, func(o any) bool { return reflect.DeepEqual(o, e) }) {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

func span(_ *scope, a []any) (any, error) {
	from, ok := a[0].(float64)
	n, ok2 := a[1].(float64)
	if !ok || !ok2 || n < 0 || n > 10000 {
		return nil, fmt.Errorf("the range %v, %v is not valid", a[0], a[1])
	}
	out := make([]any, int(n))
	for i := range out {
		out[i] = from + float64(i)
	}
	return out, nil
}
