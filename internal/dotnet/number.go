package dotnet

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Number is a number to be formatted: 0.digits times ten to the power of point. digits has no zeros at either end.
type Number struct {
	negative bool
	digits   string
	point    int

	isFloat, isWhole bool
	float            float64
	bits             int // size of the type of a whole number or float
	scale            int // number of digits after the point of a Decimal
}

// Whole returns a whole number of a type with this number of bits.
func Whole(n *big.Int, bits int) Number {
	d := Number{isWhole: true, bits: bits}
	return d.read(n.String())
}

// Int is like Whole, for an int64.
func Int(n int64, bits int) Number { return Whole(big.NewInt(n), bits) }

// Decimal returns the System.Decimal in a text.
func Decimal(text string) Number {
	_, fraction, _ := strings.Cut(text, ".")
	return Number{scale: len(fraction)}.read(text)
}

// Float returns a Double, or a Single if bits is 32.
func Float(f float64, bits int) Number {
	d := Number{isFloat: true, float: f, bits: bits}
	return d.read(d.text('e', d.most()-1))
}

// most returns the number of digits of a float that .NET Framework and custom formats use.
func (d Number) most() int { return cond(d.bits == 32, 7, 15) }

// text returns the float formatted by strconv.FormatFloat.
func (d Number) text(form byte, decimals int) string {
	return strconv.FormatFloat(d.float, form, decimals, d.bits)
}

// read sets sign, digits and point from a text.
func (d Number) read(text string) Number {
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(text, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n, _ := strconv.Atoi(exponent)
	digits := strings.TrimLeft(whole+fraction, "0")
	d.point = len(digits) - len(fraction) + n
	return d.with(digits)
}

// with returns the number with other digits.
func (d Number) with(digits string) Number {
	d.digits = strings.TrimRight(digits, "0")
	d.point = cond(d.digits == "", 0, d.point)
	return d
}

// round rounds to keep digits, half away from zero.
func (d Number) round(keep int) Number {
	if keep >= len(d.digits) {
		return d
	}
	digits := d.digits[:max(keep, 0)]
	if keep >= 0 && d.digits[keep] >= '5' {
		if digits = strings.TrimRight(digits, "9"); digits == "" {
			d.point++
			digits = "0"
		}
		digits = digits[:len(digits)-1] + string(digits[len(digits)-1]+1)
	}
	return d.with(digits)
}

func zeros(n int) string { return strings.Repeat("0", max(0, n)) }

// fixed returns the number with this number of decimals, without its sign.
func (d Number) fixed(decimals int) (whole, fraction string) {
	d = d.round(d.point + decimals)
	padded := zeros(-d.point) + d.digits + zeros(d.point+decimals-len(d.digits))
	at := max(d.point, 0)
	return cond(at == 0, "0", padded[:at]), padded[at : at+decimals]
}

// pointed returns the number with a point if there are decimals, and with commas between thousands if grouped is true.
func (d Number) pointed(decimals int, grouped bool) string {
	whole, fraction := d.fixed(decimals)
	for i := len(whole) - 3; i > 0 && grouped; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + cond(decimals > 0, ".", "") + fraction
}

// scientific returns the number with an exponent of at least least digits, without its sign.
func (d Number) scientific(decimals int, e byte, least int) string {
	d = d.round(decimals + 1)
	exponent := cond(d.digits == "", 0, d.point-1)
	d.point -= exponent
	return d.pointed(decimals, false) + string(e) + exponentText(exponent, true, least)
}

func exponentText(n int, plus bool, least int) string {
	t := strconv.Itoa(max(n, -n))
	return cond(n < 0, "-", cond(plus, "+", "")) + zeros(least-len(t)) + t
}

// general returns the number rounded to this number of digits, without its sign.
func (d Number) general(digits int, e byte) string {
	if d = d.round(digits); d.point > digits || d.point < -3 {
		return d.scientific(max(len(d.digits)-1, 0), e, 2)
	}
	return d.pointed(max(len(d.digits)-d.point, 0), false)
}

// shortest returns a float with the fewest digits that identify it, without its sign.
func (d Number) shortest(e byte) string {
	a := math.Abs(d.float)
	if a == 0 || a >= 1e-4 && a < cond(d.bits == 32, 1e8, 1e15) {
		return strings.TrimPrefix(d.text('f', -1), "-")
	}
	return strings.TrimPrefix(d.text(e, -1), "-")
}

// exact returns the number with the digits that a standard format is based on. For a float, .NET uses the
// digits of its exact value, rounded half to even; .NET Framework uses 15 digits of a Double, and 17 if
// more are requested.
// Source:
// https://learn.microsoft.com/dotnet/core/compatibility/3.0#floating-point-formatting-and-parsing-behavior-changed.
func (c *Culture) exact(d Number, form byte, decimals int) Number {
	switch {
	case !d.isFloat:
		return d
	case !c.framework:
		return d.read(d.text(form, decimals))
	case form == 'e' && decimals >= d.most():
		return d.read(d.text('e', d.most()+1))
	}
	return d
}

// sign returns the sign of a number in its text.
func (c *Culture) sign(d Number) string {
	return cond(d.negative && (!c.framework || d.digits != ""), "-", "")
}

var (
	standardFormat = regexp.MustCompile(`^([A-Za-z])([0-9]*)$`)
	precisions     = map[byte]int{'c': 2, 'f': 2, 'n': 2, 'p': 2, 'e': 6}
	bases          = map[byte]int{'d': 10, 'x': 16, 'b': 2}
)

// Number formats a number; the format "" means G. Source:
// https://learn.microsoft.com/dotnet/standard/base-types/standard-numeric-format-strings.
func (c *Culture) Number(d Number, spec string) (string, error) {
	if spec == "" {
		spec = "G"
	}
	m := standardFormat.FindStringSubmatch(spec)
	switch {
	case d.isFloat && math.IsNaN(d.float):
		return "NaN", nil
	case d.isFloat && math.IsInf(d.float, 0):
		return cond(d.negative, "-", "") + "Infinity", nil
	case m == nil || c.framework && len(m[2]) > 2:
		return c.custom(d, spec), nil
	}
	kind, lower := m[1][0], m[1][0]|0x20
	precision := precisions[lower]
	if n, err := strconv.Atoi(m[2]); m[2] != "" {
		if precision = n; err != nil || n > maxWidth {
			return "", ErrSpecifier
		}
	}
	switch base := bases[lower]; {
	case base != 0 && d.isWhole && !(c.framework && base == 2):
		return d.based(base, precision, kind), nil
	case lower == 'c' || lower == 'f' || lower == 'n':
		d = c.exact(d, 'f', precision)
		d = d.round(d.point + precision)
		text := d.pointed(precision, lower != 'f')
		if lower == 'c' {
			return cond(c.sign(d) != "", "("+c.currency+text+")", c.currency+text), nil
		}
		return c.sign(d) + text, nil
	case lower == 'p':
		d = c.exact(d, 'f', precision+2)
		d.point += cond(d.digits == "", 0, 2)
		d = d.round(d.point + precision)
		return c.sign(d) + d.pointed(precision, true) + " %", nil
	case lower == 'e':
		d = c.exact(d, 'e', precision)
		return c.sign(d) + d.scientific(precision, kind, 3), nil
	case lower == 'r' && d.isFloat || lower == 'g' && precision == 0:
		return c.sign(d) + c.whole(d, kind), nil
	case lower == 'g':
		d = c.exact(d, 'e', precision-1)
		return c.sign(d) + d.general(precision, kind-2), nil
	}
	return "", ErrSpecifier
}

// whole returns a number with all its digits, without its sign, for the formats G and R.
func (c *Culture) whole(d Number, kind byte) string {
	e := byte('E')
	if kind == 'g' {
		e = 'e'
	}
	switch {
	case !d.isFloat:
		return d.pointed(d.scale, false)
	case !c.framework:
		return d.shortest(e)
	case kind|0x20 == 'r':
		if f, _ := strconv.ParseFloat(d.text('e', d.most()-1), d.bits); f != d.float {
			return c.exact(d, 'e', d.most()).general(d.most()+2, e)
		}
	}
	return d.general(d.most(), e)
}

// based returns a whole number in a base; negative numbers are in two's complement of their type.
func (d Number) based(base, precision int, kind byte) string {
	number, _ := new(big.Int).SetString(d.pointed(0, false), 10)
	if base != 10 && d.negative {
		number.Sub(new(big.Int).Lsh(big.NewInt(1), uint(d.bits)), number)
	}
	t := number.Text(base)
	return cond(base == 10 && d.negative, "-", "") + zeros(precision-len(t)) + cond(kind == 'X', strings.ToUpper(t), t)
}
