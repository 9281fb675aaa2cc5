package template

import (
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
)

// functionsTSV has the signatures: "substring(text: string, start: int, length?: int): string" for
// one, and "concat(arg?: any...): string|array" for one whose last argument may be repeated.
//
//go:embed functions.tsv
var functionsTSV string

// function is one function of the language. Its row in the table says how many arguments of which
// types it takes: what is checked, refused and documented comes from it.
type function struct {
	name string
	eval func(s *scope, args []any) (any, error)
	// nodes evaluates arguments by itself, for what does not evaluate all of them.
	nodes func(s *scope, c *call) (any, error)
	// takesLater is set if eval takes arguments that are known later.
	takesLater bool
	in         where

	signature, does string
	args            []argument
	min, max        int // max is -1 without a limit
}

// pure returns the code of a function that depends on its arguments alone and cannot fail.
func pure(do func(a []any) any) func(*scope, []any) (any, error) {
	return func(_ *scope, a []any) (any, error) { return do(a), nil }
}

// where says where a function is known.
type where uint8

const (
	anywhere where = iota
	inLambda
	inLoop
)

type argument struct {
	name  string
	kinds kind
	types string
}

// table returns the functions by lower-case name.
var table = sync.OnceValue(func() map[string]*function {
	out := map[string]*function{}
	for _, rows := range [][]function{textFunctions(), convertFunctions(), collectionFunctions(), objectFunctions(), numericFunctions(),
		logicFunctions(), dateFunctions(), cidrFunctions(), lambdaFunctions(), scopeFunctions(), resourceFunctions()} {
		for i := range rows {
			out[strings.ToLower(rows[i].name)] = &rows[i]
		}
	}
	for line := range strings.Lines(functionsTSV) {
		if signature, does, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			name, _, _ := strings.Cut(signature, "(")
			f := out[strings.ToLower(name)]
			f.does = does
			f.read(signature)
		}
	}
	return out
})

// read takes a signature apart. Signatures are written in this package, so that a wrong one is a
// fault of the program, which a test finds.
func (f *function) read(signature string) {
	name, rest, _ := strings.Cut(signature, "(")
	list, _, _ := strings.Cut(rest, "): ")
	f.name, f.signature = name, signature
	for part := range strings.SplitSeq(list, ", ") {
		if part == "" {
			break
		}
		arg, types, _ := strings.Cut(part, ": ")
		types, repeated := strings.CutSuffix(types, "...")
		arg, optional := strings.CutSuffix(arg, "?")
		a := argument{name: arg, types: types}
		for t := range strings.SplitSeq(types, "|") {
			if t == "any" {
				a.kinds |= kindAny
				continue
			}
			i := slices.IndexFunc(kindNames, func(n struct {
				kind        kind
				name, short string
			}) bool {
				return n.short == t
			})
			a.kinds |= kindNames[i].kind
		}
		f.args = append(f.args, a)
		if !optional {
			f.min++
		}
		if f.max++; repeated {
			f.max = -1
		}
	}
}

// count checks the number of arguments.
func (f *function) count(name string, n int) error {
	switch {
	case n >= f.min && (f.max < 0 || n <= f.max):
		return nil
	case f.max < 0:
		return fmt.Errorf("unable to evaluate template language function '%s': at least %d parameter(s) should be provided", name, f.min)
	case f.max == 0:
		return fmt.Errorf("the provided parameters for template language function '%s' are not valid: it does not accept parameters", name)
	case f.min == f.max:
		return fmt.Errorf("unable to evaluate template language function '%s': function requires %d argument(s) while %d were provided",
			name, f.min, n)
	}
	return fmt.Errorf("unable to evaluate template language function '%s': function requires between %d and %d argument(s) while %d "+
		"were provided", name, f.min, f.max, n)
}

var ordinals = []string{"first", "second", "third", "fourth", "fifth"}

// check checks the types of the arguments.
func (f *function) check(args []any) error {
	for i, v := range args {
		a := f.args[min(i, len(f.args)-1)]
		if a.kinds == kindAny || a.kinds&kindOf(v) != 0 && !tooLarge(v) {
			continue
		}
		which := fmt.Sprintf("parameter %d", i+1)
		if i < len(ordinals) {
			which = ordinals[i] + " parameter"
		}
		if tooLarge(v) {
			return fmt.Errorf("the template language function '%s' expects its %s to be an integer of 64 bits, not %v", f.name, which, v)
		}
		if f.max == 1 {
			which = "parameter"
		}
		return fmt.Errorf("the template language function '%s' expects its %s to be of type '%s'. The provided value is of type '%s'",
			f.name, which, a.kinds, kindOf(v))
	}
	return nil
}

// Documented yields the signature of each function with what it does, sorted by name.
func Documented() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		var names []string
		for n := range table() {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			if f := table()[n]; !yield(f.signature, f.does) {
				return
			}
		}
	}
}
