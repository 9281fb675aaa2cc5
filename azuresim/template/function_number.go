package template

import (
	"math"
	"math/big"

	"casement.dev/casement/azuresim/template/datum"
	"casement.dev/casement/internal/dotnet"
)

var numberFunctions = functions{
	"add": arithmetic((*big.Int).Add, false), "sub": arithmetic((*big.Int).Sub, false), "mul": arithmetic((*big.Int).Mul, false),
	"div": arithmetic((*big.Int).Quo, true), "mod": arithmetic((*big.Int).Rem, true),

	"true": func(*scope, []any) any { return true }, "false": func(*scope, []any) any { return false },
	"not":             unaryFunc(func(v bool) any { return !v }),
	"equals":          binaryFunc(func(a, b any) any { return datum.Equal(a, b) }),
	"less":            binaryFunc(func(a, b any) any { return compare(a, b) < 0 }),
	"lessOrEquals":    binaryFunc(func(a, b any) any { return compare(a, b) <= 0 }),
	"greater":         binaryFunc(func(a, b any) any { return compare(a, b) > 0 }),
	"greaterOrEquals": binaryFunc(func(a, b any) any { return compare(a, b) >= 0 }),
	"fail":            unaryFunc(func(message string) any { return failWhole("%s", message) }),
}

// arithmetic implements a function of two integers; divides means that the second one must not be
// 0.
func arithmetic(do func(out, a, b *big.Int) *big.Int, divides bool) eval {
	return binaryFunc(func(a, b int64) any {
		if divides && b == 0 {
			fail("tried to divide by zero")
		}
		out := do(new(big.Int), big.NewInt(a), big.NewInt(b))
		if !out.IsInt64() || divides && a == math.MinInt64 && b == -1 {
			fail("overflowed with the operands '%d' and '%d'", a, b)
		}
		return out.Int64()
	})
}

// compare orders two numbers, or two texts in the order of .NET's invariant culture.
func compare(a, b any) int {
	const numbers = kindInt | kindFloat
	x, isText := a.(string)
	y, toText := b.(string)
	if isText && toText {
		return dotnet.Compare(x, y, false)
	}
	if kindOf(a)&numbers == 0 || kindOf(b)&numbers == 0 {
		fail("expects two numbers or two texts, not values of the types '%s' and '%s'", kindOf(a), kindOf(b))
	}
	return compareNumbers(a, b)
}
