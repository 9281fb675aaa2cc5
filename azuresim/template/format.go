package template

import (
	"cmp"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// maxWidth bounds widths and precisions in a composite format, as .NET does.
const maxWidth = 1_000_000

func failFormat(why string) { fail("has a format that is invalid: '%s'", why) }

// items matches what is no literal in a composite format: {index,alignment:format}, and braces.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/composite-formatting.
var items = regexp.MustCompile(`\{\{|\}\}|\{([0-9]+) *(?:, *(-?[0-9]+) *)?(?::([^{}]*))?\}|[{}]`)

// format is .NET's composite formatting.
func format(s *scope, a []any) any {
	return items.ReplaceAllStringFunc(a[0].(string), func(item string) string {
		m := items.FindStringSubmatch(item)
		switch {
		case item == "{{" || item == "}}":
			return item[:1]
		case m[1] == "":
			failFormat("a brace has no counterpart, or what is in braces is no format item")
		}
		index, err := strconv.Atoi(m[1])
		if err != nil || index >= len(a)-1 {
			failFormat("index (zero based) must be greater than or equal to zero and less than the size of the argument list")
		}
		width, err := strconv.Atoi(cmp.Or(m[2], "0"))
		if err != nil || max(width, -width) >= maxWidth {
			failFormat("the alignment is not valid")
		}
		out := formatValue(a[index+1], m[3])
		blank := strings.Repeat(" ", max(0, max(width, -width)-utf16Len(out)))
		s.spendText(len(out) + len(blank))
		return cond(width < 0, out+blank, blank+out)
	})
}

func formatValue(v any, spec string) string {
	text, plain := plainText(v)
	switch f, isFloat := v.(float64); {
	case isFloat && (spec == "" || math.IsNaN(f) || math.IsInf(f, 0)):
		return shortest(f)
	case isFloat:
		return decimalOf(v, strconv.FormatFloat(f, 'e', 14, 64)).format(spec)
	case kindOf(v) == kindInt:
		return decimalOf(v, string(Encode(v))).format(cmp.Or(spec, "D"))
	case plain || v == nil:
		return text
	}
	return string(appendJSON(nil, v, '\'')) // with single quotes, in format alone (Bicep's published tests)
}

// decimal is a number as .NET formats it: 0.digits times ten to the power of point, digits without zeros at either end.
type decimal struct {
	value    any // int64, *big.Int or float64
	negative bool
	digits   string
	point    int
}

// decimalOf reads the text of a number: all digits of an integer, 15 of a float.
func decimalOf(v any, text string) decimal {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(text, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n, _ := strconv.Atoi(exponent)
	digits := strings.TrimLeft(whole+fraction, "0")
	return decimal{value: v, negative: negative, point: len(digits) - len(fraction) + n}.with(digits)
}

// with returns the number with other digits.
func (d decimal) with(digits string) decimal {
	d.digits = strings.TrimRight(digits, "0")
	d.point = cond(d.digits == "", 0, d.point)
	return d
}

// round keeps so many digits, and rounds half away from zero.
func (d decimal) round(keep int) decimal {
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

// fixed returns the number with so many digits after its point, without its sign.
func (d decimal) fixed(decimals int) (whole, fraction string) {
	d = d.round(d.point + decimals)
	padded := zeros(-d.point) + d.digits + zeros(d.point+decimals-len(d.digits))
	at := max(d.point, 0)
	return cond(at == 0, "0", padded[:at]), padded[at : at+decimals]
}

// exact returns the number with as many digits as a standard format asks for: of a float they are those of its exact
// value, rounded half to even, of an integer it has all of them.
func (d decimal) exact(form byte, decimals int) decimal {
	if f, is := d.value.(float64); is {
		return decimalOf(f, strconv.FormatFloat(f, form, decimals, 64))
	}
	return d
}

// pointed returns the number with a point, if there are digits after it, and with commas between thousands if it is grouped.
func (d decimal) pointed(decimals int, grouped bool) string {
	whole, fraction := d.fixed(decimals)
	for i := len(whole) - 3; i > 0 && grouped; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + cond(decimals > 0, ".", "") + fraction
}

var (
	standardFormat = regexp.MustCompile(`^([A-Za-z])([0-9]*)$`)
	precisions     = map[byte]int{'c': 2, 'f': 2, 'n': 2, 'p': 2, 'e': 6}
	bases          = map[byte]int{'d': 10, 'x': 16, 'b': 2}
)

// format formats as .NET does in the invariant culture.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/standard-numeric-format-strings.
func (d decimal) format(spec string) string {
	m := standardFormat.FindStringSubmatch(spec)
	if m == nil {
		return d.custom(spec)
	}
	f, isFloat := d.value.(float64)
	kind, lower := m[1][0], m[1][0]|0x20
	precision := precisions[lower]
	if n, err := strconv.Atoi(m[2]); m[2] != "" {
		if precision = n; err != nil || n > maxWidth {
			failFormat("the precision is too large")
		}
	}
	sign := cond(d.negative, "-", "")
	switch base := bases[lower]; {
	case base != 0 && !isFloat:
		number, _ := new(big.Int).SetString(d.pointed(0, false), 10)
		if base != 10 && d.negative {
			number.Sub(new(big.Int).Lsh(big.NewInt(1), 64), number)
		}
		t := number.Text(base)
		return cond(base == 10, sign, "") + zeros(precision-len(t)) + cond(kind == 'X', strings.ToUpper(t), t)
	case lower == 'c':
		text := "¤" + d.exact('f', precision).pointed(precision, true)
		return cond(d.negative, "("+text+")", text)
	case lower == 'f' || lower == 'n':
		return sign + d.exact('f', precision).pointed(precision, lower == 'n')
	case lower == 'p':
		d = d.exact('f', precision+2)
		d.point += cond(d.digits == "", 0, 2)
		return sign + d.pointed(precision, true) + " %"
	case lower == 'e':
		return sign + d.exact('e', precision).scientific(precision, kind, 3)
	case lower == 'r' && isFloat || lower == 'g' && precision == 0:
		return cond(isFloat, strings.Replace(shortest(f), "E", string(cond(kind == 'g', 'e', 'E')), 1), sign+d.pointed(0, false))
	case lower == 'g':
		if d = d.exact('e', precision-1).round(precision); d.point > precision || d.point < -3 {
			return sign + d.scientific(max(len(d.digits)-1, 0), kind-2, 2)
		}
		return sign + d.pointed(max(len(d.digits)-d.point, 0), false)
	}
	failFormat("format specifier was invalid")
	return ""
}

// scientific returns the number with an exponent of at least so many digits, without its sign.
func (d decimal) scientific(decimals int, e byte, least int) string {
	d = d.round(decimals + 1)
	exponent := cond(d.digits == "", 0, d.point-1)
	d.point -= exponent
	return d.pointed(decimals, false) + string(e) + exponentText(exponent, true, least)
}

func exponentText(n int, plus bool, least int) string {
	t := strconv.Itoa(max(n, -n))
	return cond(n < 0, "-", cond(plus, "+", "")) + zeros(least-len(t)) + t
}

// pictureParts matches the parts of a custom format: literals, exponents and signs.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/custom-numeric-format-strings.
var pictureParts = regexp.MustCompile(`(?s)'[^']*'?|"[^"]*"?|\\.?|[eE][-+]?0+|.`)

// picture is a section of a custom format.
type picture struct {
	parts         []string
	before, after int // places of digits before and after the point
	zeros, keep   int // digits that are always there before and after it
	scale         int // the power of ten that the number is multiplied with
	group, e      bool
}

// isExponent reports whether a part of a custom format is an exponent.
func isExponent(part string) bool { return part[0]|0x20 == 'e' && len(part) > 1 }

func pictureOf(parts []string) picture {
	p := picture{parts: parts}
	point, commas := false, 0
	for _, part := range parts {
		switch c := part[0]; {
		case (c == '0' || c == '#') && point:
			if p.after++; c == '0' {
				p.keep = p.after
			}
		case c == '0' || c == '#':
			p.group = p.group || commas > 0 && p.before > 0
			commas = 0
			if p.before++; p.zeros > 0 || c == '0' {
				p.zeros++
			}
		case c == '.':
			point = true
		case c == ',' && !point:
			commas++
		case c == '%' || part == "‰":
			p.scale += cond(c == '%', 2, 3)
		case isExponent(part):
			p.e = true
		}
	}
	if p.before > 0 {
		p.scale -= 3 * commas
	}
	return p
}

// rounded returns the number as the picture shows it.
func (p picture) rounded(d decimal) decimal {
	if d.digits == "" {
		return d
	}
	d.point += p.scale
	return d.round(cond(p.e, p.before, d.point) + p.after)
}

// custom formats with a picture of digits: sections are for positive, negative and zero.
func (d decimal) custom(spec string) string {
	sections := [][]string{nil}
	for _, part := range pictureParts.FindAllString(spec, -1) {
		if last := len(sections) - 1; part == ";" {
			sections = append(sections, nil)
		} else {
			sections[last] = append(sections[last], part)
		}
	}
	use := func(i int) int { return cond(i < len(sections) && sections[min(i, len(sections)-1)] != nil, i, 0) }
	section := use(cond(d.digits == "", 2, cond(d.negative, 1, 0)))
	p := pictureOf(sections[section])
	n := p.rounded(d)
	if zero := use(2); n.digits == "" && d.digits != "" && zero != section {
		section, p = zero, pictureOf(sections[zero])
		n = p.rounded(decimal{})
	}
	exponent := 0
	if p.e && n.digits != "" {
		exponent, n.point = n.point-p.before, p.before
	}
	whole, fraction := n.fixed(p.after)
	if n.digits == "" || n.point <= 0 {
		whole = ""
	}
	whole = zeros(p.zeros-len(whole)) + whole
	fraction = fraction[:max(p.keep, len(strings.TrimRight(fraction, "0")))]
	return cond(d.negative && section == 0 && n.digits != "", "-", "") + p.fill(whole, fraction, exponent)
}

// fill writes the digits of a number into the picture.
func (p picture) fill(whole, fraction string, exponent int) string {
	var out strings.Builder
	places, used, point := p.before, 0, false // places of digits to come, digits written
	digits := func(upTo int) {
		for ; used < upTo; used++ {
			out.WriteByte(whole[used])
			if left := len(whole) - used - 1; p.group && left > 0 && left%3 == 0 {
				out.WriteByte(',')
			}
		}
	}
	for _, part := range p.parts {
		switch c := part[0]; {
		case (c == '0' || c == '#') && point:
			next := min(1, len(fraction))
			out.WriteString(fraction[:next])
			fraction = fraction[next:]
		case c == '0' || c == '#': // the first place takes all digits for which there is none
			places--
			digits(len(whole) - places)
		case c == '.' && !point:
			digits(cond(p.before == 0, len(whole), used))
			point = true
			out.WriteString(cond(fraction == "", "", "."))
		case c == '\'' || c == '"':
			out.WriteString(strings.Trim(part, part[:1]))
		case isExponent(part):
			out.WriteString(part[:1] + exponentText(exponent, part[1] == '+', strings.Count(part, "0")))
		case c != '.' && c != ',':
			out.WriteString(strings.TrimPrefix(part, `\`))
		}
	}
	return out.String()
}
