package template

import (
	"math"
	"math/bits"

	"casement.dev/casement/internal/dotnet"
)

var numberFunctions = functions{
	"add": arithmetic(func(a, b int64) (int64, bool) { return a + b, (a+b > a) == (b > 0) }),
	"sub": arithmetic(func(a, b int64) (int64, bool) { return a - b, (a-b < a) == (b > 0) }),
	"mul": arithmetic(func(a, b int64) (int64, bool) {
		high, low := bits.Mul64(magnitude(a), magnitude(b))
		limit := uint64(math.MaxInt64) + cond[uint64]((a < 0) != (b < 0), 1, 0)
		return a * b, high == 0 && low <= limit
	}),
	"div": arithmetic(func(a, b int64) (int64, bool) { return a / divisor(b), a != math.MinInt64 || b != -1 }),
	"mod": arithmetic(func(a, b int64) (int64, bool) { return a % divisor(b), a != math.MinInt64 || b != -1 }),

	"true": func(*scope, []any) any { return true }, "false": func(*scope, []any) any { return false },
	"not":             fn1(func(v bool) any { return !v }),
	"equals":          fn2(func(a, b any) any { return equal(a, b) }),
	"less":            fn2(func(a, b any) any { return compare(a, b) < 0 }),
	"lessOrEquals":    fn2(func(a, b any) any { return compare(a, b) <= 0 }),
	"greater":         fn2(func(a, b any) any { return compare(a, b) > 0 }),
	"greaterOrEquals": fn2(func(a, b any) any { return compare(a, b) >= 0 }),
	"fail":            fn1(func(message string) any { return failWhole("%s", message) }),
}

func arithmetic(do func(a, b int64) (int64, bool)) eval {
	return fn2(func(a, b int64) any {
		out, ok := do(a, b)
		if !ok {
			fail("overflowed with the operands '%d' and '%d'", a, b)
		}
		return out
	})
}

func magnitude(n int64) uint64 { return cond(n < 0, -uint64(n), uint64(n)) }

func divisor(n int64) int64 {
	if n == 0 {
		fail("tried to divide by zero")
	}
	return n
}

// compare orders two numbers, or two texts as .NET's invariant culture does.
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
