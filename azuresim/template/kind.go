package template

import (
	"math/big"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

// A kind is a set of types of values of the language.
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

// kindNames are the names of the types in Azure's messages and in signatures of functions.
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
	case *datum.Object:
		return kindObject
	case *lambda:
		return kindLambda
	}
	return kindAny // a Later can have any type
}

// tooLarge reports whether a value is an integer of more than 64 bits.
func tooLarge(v any) bool {
	_, is := v.(*big.Int)
	return is
}

// cond returns then if is is true, otherwise other.
func cond[T any](is bool, then, other T) T {
	if is {
		return then
	}
	return other
}

// each returns the results of a function for each element.
func each[E, T any](list []E, do func(E) T) []T {
	out := make([]T, len(list))
	for i, e := range list {
		out[i] = do(e)
	}
	return out
}

// anys returns texts as a list of values of the language.
func anys(list []string) []any { return each(list, func(s string) any { return s }) }
