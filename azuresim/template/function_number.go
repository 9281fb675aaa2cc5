package template

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

func numericFunctions() []function {
	arithmetic := func(name string, do func(a, b int64) (int64, bool)) function {
		return function{name: name, eval: func(_ *scope, a []any) (any, error) {
			x, y := a[0].(int64), a[1].(int64)
			if (name == "div" || name == "mod") && y == 0 {
				return nil, fmt.Errorf("the template language function '%s' tried to divide by zero", name)
			}
			out, ok := do(x, y)
			if !ok {
				return nil, fmt.Errorf("the template language function '%s' overflowed with the operands '%d' and '%d'", name, x, y)
			}
			return out, nil
		}}
	}
	return []function{
		arithmetic("add", func(a, b int64) (int64, bool) { return a + b, (a+b > a) == (b > 0) }),
		arithmetic("sub", func(a, b int64) (int64, bool) { return a - b, (a-b < a) == (b > 0) }),
		arithmetic("mul", multiply),
		arithmetic("div", func(a, b int64) (int64, bool) { return a / b, a != math.MinInt64 || b != -1 }),
		arithmetic("mod", func(a, b int64) (int64, bool) {
			return a % b, a != math.MinInt64 || b != -1
		}),
	}
}

func multiply(a, b int64) (int64, bool) {
	magnitude := func(n int64) uint64 {
		if n < 0 {
			return -uint64(n)
		}
		return uint64(n)
	}
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	limit := uint64(math.MaxInt64)
	if (a < 0) != (b < 0) {
		limit++
	}
	return a * b, high == 0 && low <= limit
}

func logicFunctions() []function {
	compared := func(name string, is func(order int) bool) function {
		return function{name: name, eval: func(_ *scope, a []any) (any, error) {
			order, err := compare(name, a[0], a[1])
			return is(order), err
		}}
	}
	constant := func(name string, v bool) function {
		return function{name: name, eval: func(*scope, []any) (any, error) { return v, nil }}
	}
	return []function{
		constant("true", true), constant("false", false),
		{name: "not", eval: func(_ *scope, a []any) (any, error) { return !a[0].(bool), nil }},
		{name: "and",
			nodes: func(s *scope, c *call) (any, error) { return s.shortcut(c, "and", false) }},
		{name: "or",
			nodes: func(s *scope, c *call) (any, error) { return s.shortcut(c, "or", true) }},
		{name: "if", nodes: choose},
		{name: "equals", eval: func(_ *scope, a []any) (any, error) { return equal(a[0], a[1]), nil }},
		compared("less", func(o int) bool { return o < 0 }),
		compared("lessOrEquals", func(o int) bool { return o <= 0 }),
		compared("greater", func(o int) bool { return o > 0 }),
		compared("greaterOrEquals", func(o int) bool { return o >= 0 }),
	}
}

// shortcut evaluates and and or: the first argument that is end ends it.
func (s *scope) shortcut(c *call, name string, end bool) (any, error) {
	for i, a := range c.args {
		v, err := s.eval(a)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case later:
			args := []any{v}
			for _, n := range c.args[i+1:] {
				args = append(args, s.attempt(n))
			}
			return s.laterOf(showCall(c.name, args))
		case bool:
			if v == end {
				return end, nil
			}
		default:
			return nil, fmt.Errorf("the provided arguments for template language function '%s' are not valid: all arguments should be of "+
				"type 'boolean'", name)
		}
	}
	return !end, nil
}

// attempt evaluates what may turn out not to be needed: what is wrong with it is no error.
func (s *scope) attempt(n node) any {
	v, err := s.eval(n)
	if err != nil {
		return later{text: show(n)}
	}
	return v
}

func choose(s *scope, c *call) (any, error) {
	v, err := s.eval(c.args[0])
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case bool:
		if v {
			return s.eval(c.args[1])
		}
		return s.eval(c.args[2])
	case later:
		args := []any{v, s.attempt(c.args[1]), s.attempt(c.args[2])}
		return s.laterOf(showCall(c.name, args))
	}
	return nil, fmt.Errorf("expects its first parameter to be of type 'boolean'. The provided value is of type '%s'", kindOf(v))
}

// compare orders two numbers, or two texts as .NET's invariant culture does.
func compare(name string, a, b any) (int, error) {
	numbers := kindInt | kindFloat
	x, isText := a.(string)
	y, toText := b.(string)
	switch {
	case isText && toText:
		return compareTexts(x, y), nil
	case kindOf(a)&numbers != 0 && kindOf(b)&numbers != 0:
		return compareNumbers(a, b), nil
	}
	return 0, fmt.Errorf("the template language function '%s' expects two numbers or two texts, not values of types '%s' and '%s'",
		name, kindOf(a), kindOf(b))
}

// compareTexts orders texts by letters, then by accents, then small letters before capitals:
// signs come before digits and digits before letters.
func compareTexts(a, b string) int {
	var order [3]int
	x, y := []rune(norm.NFD.String(a)), []rune(norm.NFD.String(b))
	base := func(r []rune) (letters []rune, marks string) {
		var m strings.Builder
		for _, c := range r {
			if unicode.Is(unicode.Mn, c) {
				m.WriteRune(c)
				continue
			}
			letters = append(letters, c)
			m.WriteByte(' ')
		}
		return letters, m.String()
	}
	p, pm := base(x)
	q, qm := base(y)
	order[1] = strings.Compare(pm, qm)
	for i := range min(len(p), len(q)) {
		c, d := unicode.ToLower(p[i]), unicode.ToLower(q[i])
		order[0] = cmp.Or(order[0], cmp.Compare(class(c), class(d)), cmp.Compare(c, d))
		order[2] = cmp.Or(order[2], -cmp.Compare(p[i], q[i])) // capitals have the smaller codes
	}
	return cmp.Or(order[0], cmp.Compare(len(p), len(q)), order[1], order[2])
}

func class(r rune) int {
	switch {
	case unicode.IsLetter(r):
		return 4
	case unicode.IsDigit(r):
		return 3
	case unicode.IsSpace(r):
		return 0
	case r == '_', r == '-':
		return 1
	}
	return 2
}

func lambdaFunctions() []function {
	return []function{
		{name: "lambda",
			nodes: makeLambda},
		{name: "lambdaVariables", in: inLambda,
			eval: func(s *scope, a []any) (any, error) {
				for i := len(s.bindings) - 1; i >= 0; i-- {
					if strings.EqualFold(s.bindings[i].name, a[0].(string)) {
						return s.bindings[i].value, nil
					}
				}
				return nil, fmt.Errorf("the template function 'lambdaVariables' is not valid: there is no variable '%s'", a[0])
			}}, {name: "map", eval: func(_ *scope, a []any) (any, error) {
			out := []any{}
			err := each("map", a, 0, func(_ int, _, v any) error { out = append(out, v); return nil })
			return out, err
		}},
		{name: "filter", eval: func(_ *scope, a []any) (any, error) {
			out := []any{}
			err := each("filter", a, kindBool, func(_ int, e, v any) error {
				if v == true {
					out = append(out, e)
				}
				return nil
			})
			return out, err
		}},
		{name: "reduce", eval: reduce},
		{name: "sort", eval: sortList},
		{name: "toObject", eval: toObject},
		{name: "groupBy", eval: func(_ *scope, a []any) (any, error) {
			out := &Object{}
			err := each("groupBy", a, kindString, func(_ int, e, v any) error {
				list, _ := out.Get(v.(string))
				l, _ := list.([]any)
				set(out, v.(string), append(l, e))
				return nil
			})
			return out, err
		}},
		{name: "mapValues", eval: func(_ *scope, a []any) (any, error) {
			out := &Object{}
			l, err := lambdaOf("mapValues", a[1], 1, 1)
			if err != nil {
				return nil, err
			}
			for k, v := range a[0].(*Object).All() {
				w, err := l.apply(v)
				if err != nil {
					return nil, err
				}
				out.Set(k, w)
			}
			return out, nil
		}},
	}
}

func makeLambda(s *scope, c *call) (any, error) {
	l := &lambda{body: c.args[len(c.args)-1], scope: s, source: c}
	for _, n := range c.args[:len(c.args)-1] {
		v, err := s.eval(n)
		if err != nil {
			return nil, err
		}
		name, is := v.(string)
		if !is {
			return nil, fmt.Errorf("expects names of variables to be texts, not '%s'", kindOf(v))
		}
		l.names = append(l.names, name)
	}
	return l, nil
}

// lambdaOf checks the number of variables of a lambda expression.
func lambdaOf(name string, v any, least, most int) (*lambda, error) {
	l := v.(*lambda)
	if n := len(l.names); n < least || n > most {
		return nil, fmt.Errorf("the lambda expression provided to language function '%s' has %d variable(s); between %d and %d are expected",
			name, n, least, most)
	}
	return l, nil
}

// each applies the lambda expression that is the second argument to each element of the list
// that is the first; what it yields has to be of the kinds, unless they are 0.
func each(name string, a []any, want kind, do func(i int, element, v any) error) error {
	l, err := lambdaOf(name, a[1], 1, 2)
	if err != nil {
		return err
	}
	for i, e := range a[0].([]any) {
		v, err := l.apply([]any{e, int64(i)}[:len(l.names)]...)
		if err != nil {
			return err
		}
		if want != 0 && kindOf(v)&want == 0 {
			return errLambda(name, want, i, v)
		}
		if want != 0 && isLater(v) {
			return errLater
		}
		if err := do(i, e, v); err != nil {
			return err
		}
	}
	return nil
}

func errLambda(name string, want kind, i int, v any) error {
	return fmt.Errorf("the lambda expression provided to language function '%s' is expected to return a value of type '%s', but evaluation "+
		"on the input element at position %d returned a value of type '%s'", name, want, i, kindOf(v))
}

func reduce(_ *scope, a []any) (any, error) {
	l, err := lambdaOf("reduce", a[2], 2, 3)
	if err != nil {
		return nil, err
	}
	out := a[1]
	for i, e := range a[0].([]any) {
		if out, err = l.apply([]any{out, e, int64(i)}[:len(l.names)]...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sortList sorts by merging, so that a function that is no order ends as well.
func sortList(_ *scope, a []any) (any, error) {
	l, err := lambdaOf("sort", a[1], 2, 2)
	if err != nil {
		return nil, err
	}
	return mergeSort(l, a[0].([]any))
}

func mergeSort(l *lambda, list []any) ([]any, error) {
	if len(list) < 2 {
		return append([]any{}, list...), nil
	}
	x, err := mergeSort(l, list[:len(list)/2])
	if err != nil {
		return nil, err
	}
	y, err := mergeSort(l, list[len(list)/2:])
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(list))
	for len(x) > 0 && len(y) > 0 {
		// An element of the second half goes first only if it comes before: equal ones stay in order.
		v, err := l.apply(y[0], x[0])
		if err != nil {
			return nil, err
		}
		before, is := v.(bool)
		if !is {
			return nil, fmt.Errorf("the lambda expression provided to language function 'sort' is expected to return a value of type "+
				"'Boolean', but evaluation returned a value of type '%s'", kindOf(v))
		}
		if before {
			out, y = append(out, y[0]), y[1:]
		} else {
			out, x = append(out, x[0]), x[1:]
		}
	}
	return append(append(out, x...), y...), nil
}

func toObject(_ *scope, a []any) (any, error) {
	out := &Object{}
	var values *lambda
	if len(a) == 3 {
		var err error
		if values, err = lambdaOf("toObject", a[2], 1, 2); err != nil {
			return nil, err
		}
	}
	err := each("toObject", a, kindString, func(i int, e, v any) error {
		w := e
		if values != nil {
			var err error
			if w, err = values.apply([]any{e, int64(i)}[:len(values.names)]...); err != nil {
				return err
			}
		}
		set(out, v.(string), w)
		return nil
	})
	return out, err
}
