package powershell

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// sized is a whole number of a given type. An int64 is an Int32 if its value fits into one, and an Int64
// otherwise; all other types and an Int64 with a small value need a sized.
type sized struct {
	kind string // Int64, UInt32, Byte and so on
	n    int64
}

func (s sized) String() string {
	if s.kind == "UInt64" {
		return strconv.FormatUint(uint64(s.n), 10)
	}
	return strconv.FormatInt(s.n, 10)
}

// short is a Single, with 24 bits of precision. Arithmetic converts it to float64.
type short float32

func (s short) String() string { return number(s) }

// decimal is the number n / 10^scale.
type decimal struct {
	n     *big.Int
	scale int
}

func (d decimal) String() string {
	s := new(big.Int).Abs(d.n).String()
	if d.scale > 0 {
		if len(s) <= d.scale {
			s = strings.Repeat("0", d.scale-len(s)+1) + s
		}
		s = s[:len(s)-d.scale] + "." + s[len(s)-d.scale:]
	}
	if d.n.Sign() < 0 {
		s = "-" + s
	}
	return s
}

func (d decimal) float() float64 { f, _ := strconv.ParseFloat(d.String(), 64); return f }

// maxScale is the maximum number of a decimal's digits after the point.
const maxScale = 28

// parseDecimal parses a decimal number, with a point and an exponent if there are any.
func parseDecimal(s string) (decimal, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimSpace(s)), "e")
	whole, part, _ := strings.Cut(mantissa, ".")
	e := 0
	if exponent != "" {
		var err error
		if e, err = strconv.Atoi(exponent); err != nil {
			return decimal{}, false
		}
	}
	if e > maxScale || len(whole)+len(part) > 4*maxScale {
		return decimal{}, false
	}
	n, ok := new(big.Int).SetString(whole+part, 10)
	if !ok {
		return decimal{}, false
	}
	if e < -8*maxScale {
		return decimal{new(big.Int), 0}, true // the number is smaller than a decimal can represent
	}
	d := decimal{n, len(part) - e}
	if d.scale < 0 {
		return decimal{d.n.Mul(d.n, pow10(-d.scale)), 0}, true
	}
	return d.limitScale(), true
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// limitScale rounds a decimal to maxScale digits after the point.
func (d decimal) limitScale() decimal {
	if d.scale <= maxScale {
		return d
	}
	return d.round(maxScale)
}

// round rounds to scale digits after the point. Halves are rounded to the even neighbour.
func (d decimal) round(scale int) decimal {
	if scale >= d.scale {
		return d
	}
	by := pow10(d.scale - scale)
	q, m := new(big.Int).QuoRem(d.n, by, new(big.Int))
	switch twice := new(big.Int).Abs(new(big.Int).Lsh(m, 1)).Cmp(by); {
	case twice > 0, twice == 0 && q.Bit(0) == 1:
		q.Add(q, big.NewInt(int64(d.n.Sign())))
	}
	return decimal{q, scale}
}

func decimalOf(v any) (decimal, bool) {
	switch v := v.(type) {
	case decimal:
		return v, true
	case int64:
		return decimal{big.NewInt(v), 0}, true
	case sized:
		return parseDecimal(v.String())
	case short:
		return parseDecimal(v.String())
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return decimal{}, false
		}
		return parseDecimal(strconv.FormatFloat(v, 'g', 15, 64))
	}
	return decimal{}, false
}

// decimalArithmetic applies + - * / or % to decimals.
func decimalArithmetic(operator string, a, b decimal) (any, error) {
	scale := max(a.scale, b.scale)
	x, y := new(big.Int).Mul(a.n, pow10(scale-a.scale)), new(big.Int).Mul(b.n, pow10(scale-b.scale))
	switch operator {
	case "+":
		return decimal{x.Add(x, y), scale}, nil
	case "-":
		return decimal{x.Sub(x, y), scale}, nil
	case "*":
		return decimal{new(big.Int).Mul(a.n, b.n), a.scale + b.scale}.limitScale(), nil
	}
	if y.Sign() == 0 {
		return nil, divisionByZero()
	}
	if operator == "%" {
		return decimal{x.Rem(x, y), scale}, nil
	}
	d := decimal{x.Mul(x, pow10(maxScale+1)).Quo(x, y), maxScale + 1}.limitScale()
	ten, rest := big.NewInt(10), new(big.Int)
	for d.scale > 0 && rest.Rem(d.n, ten).Sign() == 0 {
		d = decimal{new(big.Int).Quo(d.n, ten), d.scale - 1}
	}
	return d, nil
}

// ranks order the whole number types as .NET promotes them (PowerShell language specification 3.0, chapter 6.15).
var ranks = map[string]int{"SByte": 0, "Byte": 0, "Int16": 0, "UInt16": 0, "Int32": 0, "UInt32": 1, "Int64": 2, "UInt64": 3}

// wholeOf returns a whole number and the name of its type; ok is false for other values.
func wholeOf(v any) (n int64, kind string, ok bool) {
	switch v := v.(type) {
	case int64:
		if v > math.MaxInt32 || v < math.MinInt32 {
			return v, "Int64", true
		}
		return v, "Int32", true
	case sized:
		return v.n, v.kind, true
	}
	return 0, "", false
}

// sizedOf returns a number with a type. The number must fit into the type.
func sizedOf(kind string, n int64) any {
	if kind == "Int32" || kind == "Int64" && (n > math.MaxInt32 || n < math.MinInt32) {
		return n
	}
	return sized{kind, n}
}

// promoted returns the type of the result of an operation on two whole numbers.
func promoted(a int64, kindA string, b int64, kindB string) string {
	kind := kindA
	if ranks[kindB] > ranks[kindA] {
		kind = kindB
	}
	switch {
	case ranks[kind] == 0:
		return "Int32"
	case kind == "UInt32" && (a < 0 || b < 0):
		return "Int64"
	}
	return kind
}

// integerArithmetic applies + - * / or % to whole numbers. A result that overflows its type becomes a Double.
func integerArithmetic(operator string, a int64, kindA string, b int64, kindB string) (any, error) {
	kind := promoted(a, kindA, b, kindB)
	v, err := integers(operator, a, b)
	n, isWhole := v.(int64)
	if err != nil || !isWhole {
		return v, err
	}
	if bounds, ok := ranges[strings.ToLower(kind)]; ok && (float64(n) < bounds[0] || float64(n) > bounds[1]) {
		return float64(n), nil
	}
	return sizedOf(kind, n), nil
}

// plainInteger returns a sized number as an int64, and any other value unchanged.
func plainInteger(v any) any {
	if s, ok := v.(sized); ok {
		return s.n
	}
	return v
}
