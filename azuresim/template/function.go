package template

import (
	_ "embed"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// functionsTSV contains the signatures of the functions, such as "substring(text: string, start: int, length?: int): string"
// or "concat(arg?: any...): string|array", whose last argument may be repeated.
//
//go:embed functions.tsv
var functionsTSV string

// function is a function of the language. Its row in the table contains the number and the types of
// its arguments, from which the checks, the errors and the documentation are derived.
type function struct {
	name, signature, does string

	kinds []kind // types of the arguments
	min   int
	more  bool // the last argument may be repeated

	eval eval
	form form
}

// eval implements a function; its arguments are evaluated and checked before the call.
type eval func(s *scope, a []any) any

// form implements a function that does not evaluate all of its arguments.
type form func(s *scope, c *call) any

// functions maps the names of a family of functions to their implementations.
type functions map[string]eval

// takesLater lists the functions that accept an argument that is a Later.
var takesLater = map[string]bool{"createArray": true, "createObject": true, "coalesce": true, "tryGet": true}

// unaryFunc, binaryFunc and ternaryFunc return the implementation of a function with one, two or three
// arguments; the table contains their types.
func unaryFunc[A any](do func(A) any) eval {
	return func(_ *scope, a []any) any { return do(as[A](a[0])) }
}

func binaryFunc[A, B any](do func(A, B) any) eval {
	return func(_ *scope, a []any) any { return do(as[A](a[0]), as[B](a[1])) }
}

func ternaryFunc[A, B, C any](do func(A, B, C) any) eval {
	return func(_ *scope, a []any) any { return do(as[A](a[0]), as[B](a[1]), as[C](a[2])) }
}

// as returns a value as a T, which the caller knows it to be; for null, the zero value.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// arg returns an optional argument.
func arg[T any](a []any, i int, otherwise T) T {
	if i < len(a) {
		if v, is := a[i].(T); is {
			return v
		}
	}
	return otherwise
}

// table maps the lower-case name of each function to the function.
var table = sync.OnceValue(func() map[string]*function {
	out := map[string]*function{}
	for line := range strings.Lines(functionsTSV) {
		if signature, does, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			f := signatureOf(signature)
			f.does = does
			out[strings.ToLower(f.name)] = f
		}
	}
	for _, family := range []functions{textFunctions, convertFunctions, arrayFunctions, objectFunctions, numberFunctions, dateFunctions,
		networkFunctions, lambdaFunctions, scopeFunctions, resourceFunctions} {
		for name, do := range family {
			out[strings.ToLower(name)].eval = do
		}
	}
	for name, do := range forms {
		out[name].form = do
	}
	return out
})

// signatureOf parses a signature. All signatures are in this package, so that an invalid one is a
// bug, which a test finds.
func signatureOf(signature string) *function {
	name, rest, _ := strings.Cut(signature, "(")
	list, _, _ := strings.Cut(rest, "): ")
	f := &function{name: name, signature: signature}
	for part := range strings.SplitSeq(list, ", ") {
		if part == "" {
			break
		}
		arg, types, _ := strings.Cut(part, ": ")
		if !strings.HasSuffix(arg, "?") {
			f.min++
		}
		types, f.more = strings.CutSuffix(types, "...")
		k := cond(types == "any", kindAny, 0)
		for _, n := range kindNames {
			if slices.Contains(strings.Split(types, "|"), n.short) {
				k |= n.kind
			}
		}
		f.kinds = append(f.kinds, k)
	}
	return f
}

// count checks the number of arguments.
func (f *function) count(n int) {
	if most := len(f.kinds); n < f.min || n > most && !f.more {
		takes := fmt.Sprint(f.min)
		if f.more {
			takes = "at least " + takes
		} else if f.min < most {
			takes = fmt.Sprintf("between %d and %d", f.min, most)
		}
		fail("unable to evaluate template language function '%s': function requires %s argument(s) while %d were provided", f.name, takes, n)
	}
}

var ordinals = []string{"first ", "second ", "third ", "fourth ", "fifth ", "last "}

// run calls the function with arguments of the right types.
func (f *function) run(s *scope, args []any) any {
	defer withinFunction(f.name)
	for i, v := range args {
		want := f.kinds[min(i, len(f.kinds)-1)]
		if want&kindOf(v) != 0 && (want == kindAny || !tooLarge(v)) {
			continue
		}
		which := "its " + ordinals[min(i, len(ordinals)-1)] + "parameter"
		if len(f.kinds) == 1 && !f.more {
			which = "its parameter"
		}
		if tooLarge(v) {
			fail("expects %s to be an integer of 64 bits, not %v", which, v)
		}
		fail("expects %s to be of type '%s'. The provided value is of type '%s'", which, want, kindOf(v))
	}
	return f.eval(s, args)
}

// Documented yields the signature and the description of each function, sorted by name.
func Documented() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, n := range slices.Sorted(maps.Keys(table())) {
			if f := table()[n]; !yield(f.signature, f.does) {
				return
			}
		}
	}
}
