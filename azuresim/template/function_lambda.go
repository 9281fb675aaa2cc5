package template

import (
	"slices"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

// lambda is the value of an expression lambda('x', ...).
type lambda struct {
	names  []string
	body   node
	scope  *scope
	source *call
}

// apply evaluates a lambda expression with values for its variables; values without a variable are
// ignored.
func (l *lambda) apply(args ...any) any {
	in := *l.scope
	in.bindings = append([]binding{}, in.bindings...)
	for i, n := range l.names {
		in.bindings = append(in.bindings, binding{n, args[i]})
	}
	return in.eval(l.body)
}

// over calls do with the index of each element, the element, and the result of the lambda
// expression for it.
func (l *lambda) over(list []any, do func(i int, e, v any)) {
	for i, e := range list {
		do(i, e, l.apply(e, int64(i)))
	}
}

// takes returns the lambda expression after checking that it has between least and most variables.
func (l *lambda) takes(least, most int) *lambda {
	if n := len(l.names); n < least || n > most {
		fail("expects a lambda expression of %d to %d variable(s), not of %d", least, most, n)
	}
	return l
}

// yields returns the result of a lambda expression as a T after checking its type.
func yields[T any](v any, want kind, i int) T {
	t, is := v.(T)
	if !is {
		fail("expects its lambda expression to return a value of type '%s', but evaluation on the input element at position %d "+
			"returned a value of type '%s'", want, i, kindOf(v))
	}
	return t
}

var lambdaFunctions = functions{
	"lambdaVariables": func(s *scope, a []any) any {
		for i := len(s.bindings) - 1; i >= 0; i-- {
			if strings.EqualFold(s.bindings[i].name, a[0].(string)) {
				return s.bindings[i].value
			}
		}
		return fail("is not valid: there is no variable '%s'", a[0])
	},
	"map": binaryFunc(func(list []any, l *lambda) any {
		out := []any{}
		l.takes(1, 2).over(list, func(_ int, _, v any) { out = append(out, v) })
		return out
	}),
	"filter": binaryFunc(func(list []any, l *lambda) any {
		out, wait := []any{}, false
		l.takes(1, 2).over(list, func(i int, e, v any) {
			if wait = wait || datum.IsLater(v); !wait && yields[bool](v, kindBool, i) {
				out = append(out, e)
			}
		})
		return cond[any](wait, datum.Later{}, out)
	}),
	"reduce": ternaryFunc(func(list []any, out any, l *lambda) any {
		l.takes(2, 3)
		for i, e := range list {
			out = l.apply(out, e, int64(i))
		}
		return out
	}),
	"sort": binaryFunc(func(list []any, l *lambda) any {
		l.takes(2, 2)
		return slices.SortedStableFunc(slices.Values(list), func(a, b any) int {
			return cond(yields[bool](l.apply(a, b), kindBool, 0), -1, 0)
		})
	}),
	"toObject": func(_ *scope, a []any) any {
		return keyed(a, func(o *datum.Object, k string, v any) { o.Put(k, v) })
	},
	"groupBy": func(_ *scope, a []any) any {
		return keyed(a, func(o *datum.Object, k string, v any) { o.Put(k, append(datum.At[[]any](o, k), v)) })
	},
	"mapValues": binaryFunc(func(of *datum.Object, l *lambda) any {
		out := &datum.Object{}
		l.takes(1, 1)
		for k, v := range of.All() {
			out.Set(k, l.apply(v))
		}
		return out
	}),
}

// keyed returns an object made from a list: a lambda expression yields the key of each element, and
// an optional second one yields its value.
func keyed(a []any, put func(o *datum.Object, k string, v any)) any {
	out, wait := &datum.Object{}, false
	a[1].(*lambda).takes(1, 2).over(a[0].([]any), func(i int, v, k any) {
		if len(a) > 2 {
			v = a[2].(*lambda).takes(1, 2).apply(v, int64(i))
		}
		if wait = wait || datum.IsLater(k); !wait {
			put(out, yields[string](k, kindString, i), v)
		}
	})
	return cond[any](wait, datum.Later{}, out)
}

// forms contains the functions that do not evaluate all of their arguments.
var forms = map[string]form{
	"and": func(s *scope, c *call) any { return s.shortcut(c, false) },
	"or":  func(s *scope, c *call) any { return s.shortcut(c, true) },
	"if": func(s *scope, c *call) any {
		switch v := s.eval(c.args[0]).(type) {
		case bool:
			return s.eval(c.args[cond(v, 1, 2)])
		case datum.Later:
			return s.laterOf(showCall(c.name, append([]any{v}, s.unsure(c.args[1:])...)))
		default:
			return failFunction(c.name, "expects its first parameter to be of type 'boolean'. The provided value is of type '%s'", kindOf(v))
		}
	},
	"lambda": func(s *scope, c *call) any {
		last := len(c.args) - 1
		l := &lambda{body: c.args[last], scope: s, source: c}
		for _, n := range c.args[:last] {
			name, is := s.eval(n).(string)
			if !is {
				failFunction(c.name, "expects names of variables to be texts")
			}
			l.names = append(l.names, name)
		}
		return l
	},
}

// shortcut evaluates the functions "and" and "or": the first argument that equals end is the
// result, and later arguments are not evaluated.
func (s *scope) shortcut(c *call, end bool) any {
	for i, a := range c.args {
		switch v := s.eval(a).(type) {
		case datum.Later:
			args := append(each(make([]any, i), func(any) any { return !end }), v)
			return s.laterOf(showCall(c.name, append(args, s.unsure(c.args[i+1:])...)))
		case bool:
			if v == end {
				return end
			}
		default:
			return failFunction(c.name, "expects all arguments to be of type 'boolean'")
		}
	}
	return !end
}

// unsure evaluates arguments that may not be needed: an error in them is ignored.
func (s *scope) unsure(nodes []node) []any {
	return each(nodes, func(n any) any {
		if v, ok := attempt(func() any { return s.eval(n) }); ok {
			return v
		}
		return datum.Later{Text: show(n)}
	})
}
