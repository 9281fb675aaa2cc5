package template

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxWidth bounds the alignment in a composite format, as .NET does.
const maxWidth = 1_000_000

func failFormat(why string) { fail("has a format that is invalid: '%s'", why) }

// format is .NET's composite formatting: {index,alignment:format}.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/composite-formatting.
func format(s *scope, a []any) any {
	var out strings.Builder
	for rest := a[0].(string); rest != ""; {
		n := strings.IndexAny(rest, "{}")
		if n < 0 {
			n = len(rest)
		}
		out.WriteString(rest[:n])
		if rest = rest[n:]; rest == "" {
			break
		}
		if len(rest) > 1 && rest[1] == rest[0] {
			out.WriteByte(rest[0])
			rest = rest[2:]
			continue
		}
		item, more, ended := strings.Cut(rest[1:], "}")
		if rest[0] == '}' || !ended {
			failFormat("a brace has no counterpart")
		}
		text := formatItem(item, a[1:])
		s.spendText(len(text) + out.Len()/16)
		out.WriteString(text)
		rest = more
	}
	return out.String()
}

func formatItem(item string, args []any) string {
	head, spec, _ := strings.Cut(item, ":")
	place, align, aligned := strings.Cut(head, ",")
	index, err := strconv.ParseUint(strings.TrimRight(place, " "), 10, 31)
	switch {
	case err != nil:
		failFormat("expected an ASCII digit")
	case index >= uint64(len(args)):
		failFormat("index (zero based) must be greater than or equal to zero and less than the size of the argument list")
	case strings.Contains(spec, "{"):
		failFormat("an opening brace is in a format item")
	}
	out := formatValue(args[index], spec)
	if !aligned {
		return out
	}
	width, err := strconv.Atoi(strings.Trim(align, " "))
	if err != nil || width >= maxWidth || width <= -maxWidth {
		failFormat("the alignment is not valid")
	}
	blank := strings.Repeat(" ", max(0, max(width, -width)-utf16Len(out)))
	return cond(width < 0, out+blank, blank+out)
}

func formatValue(v any, spec string) string {
	if kindOf(v)&(kindInt|kindFloat) != 0 {
		return numberOf(v).format(spec)
	}
	if t, ok := plainText(v); ok || v == nil {
		return t
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

// numberOf returns the digits of a number: all of an integer, 15 of a float.
func numberOf(v any) decimal {
	switch v := v.(type) {
	case float64:
		return decimalOf(v, strconv.FormatFloat(math.Abs(v), 'e', 14, 64))
	case int64:
		return decimalOf(v, strings.TrimPrefix(strconv.FormatInt(v, 10), "-"))
	}
	return decimalOf(v, new(big.Int).Abs(v.(*big.Int)).String())
}

// decimalOf reads the text of a number without its sign.
func decimalOf(v any, text string) decimal {
	mantissa, exponent, _ := strings.Cut(text, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n, _ := strconv.Atoi(exponent)
	d := decimal{value: v, digits: strings.TrimLeft(whole+fraction, "0")}
	d.point = len(d.digits) - len(fraction) + n
	d.digits = strings.TrimRight(d.digits, "0")
	d.point = cond(d.digits == "", 0, d.point)
	switch v := v.(type) {
	case int64:
		d.negative = v < 0
	case *big.Int:
		d.negative = v.Sign() < 0
	case float64:
		d.negative = math.Signbit(v)
	}
	return d
}

// round keeps so many digits, and rounds half away from zero.
func (d decimal) round(keep int) decimal {
	if keep >= len(d.digits) {
		return d
	}
	up := keep >= 0 && d.digits[keep] >= '5'
	digits := d.digits[:max(keep, 0)]
	if up {
		if digits = strings.TrimRight(digits, "9"); digits == "" {
			d.point++
			digits = "0"
		}
		digits = digits[:len(digits)-1] + string(digits[len(digits)-1]+1)
	}
	d.digits = strings.TrimRight(digits, "0")
	d.point = cond(d.digits == "", 0, d.point)
	return d
}

// fixed returns the number with so many digits after its point, without its sign.
func (d decimal) fixed(decimals int) (whole, fraction string) {
	d = d.round(d.point + decimals)
	padded := strings.Repeat("0", max(0, -d.point)) + d.digits + strings.Repeat("0", max(0, d.point+decimals-len(d.digits)))
	at := max(d.point, 0)
	return cond(at == 0, "0", padded[:at]), padded[at : at+decimals]
}

// exact returns the number with as many digits as a standard format asks for: of a float they are those of its exact
// value, rounded half to even, of an integer it has all of them.
func (d decimal) exact(form byte, decimals int) decimal {
	if f, is := d.value.(float64); is {
		return decimalOf(f, strconv.FormatFloat(math.Abs(f), form, decimals, 64))
	}
	return d
}

// format formats as .NET does in the invariant culture.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/standard-numeric-format-strings.
func (d decimal) format(spec string) string {
	f, isFloat := d.value.(float64)
	if isFloat && (spec == "" || math.IsNaN(f) || math.IsInf(f, 0)) {
		return shortest(f)
	}
	spec = cond(spec == "", "D", spec)
	kind, digits := spec[0], spec[1:]
	precision, err := strconv.ParseUint(cond(digits == "", "0", digits), 10, 31)
	if !letter(kind) || kind == '_' || err != nil {
		return d.custom(spec)
	}
	if precision > maxWidth {
		failFormat("the precision is too large")
	}
	or := func(p int) int { return cond(digits == "", p, int(precision)) }
	sign := cond(d.negative, "-", "")
	point := func(decimals int, group bool) string {
		whole, fraction := d.exact('f', decimals).fixed(decimals)
		return cond(group, grouped(whole), whole) + cond(decimals > 0, ".", "") + fraction
	}
	switch lower := kind | 0x20; {
	case strings.IndexByte("dxb", lower) >= 0 && !isFloat:
		base := map[byte]int{'d': 10, 'x': 16, 'b': 2}[lower]
		number, _ := new(big.Int).SetString(d.integer(), 10)
		if base != 10 && d.negative {
			number.Sub(new(big.Int).Lsh(big.NewInt(1), 64), number)
		}
		t := number.Text(base)
		return cond(base == 10, sign, "") + strings.Repeat("0", max(0, or(0)-len(t))) + cond(kind == 'X', strings.ToUpper(t), t)
	case lower == 'c':
		return cond(d.negative, "(¤"+point(or(2), true)+")", "¤"+point(or(2), true))
	case lower == 'f' || lower == 'n':
		return sign + point(or(2), lower == 'n')
	case lower == 'p':
		d = d.exact('f', or(2)+2)
		d.point += cond(d.digits == "", 0, 2)
		d.value = nil
		return sign + point(or(2), true) + " %"
	case lower == 'e':
		return sign + d.exact('e', or(6)).scientific(or(6), kind, 3)
	case lower == 'r' && isFloat || lower == 'g' && precision == 0:
		return cond(isFloat, strings.Replace(shortest(f), "E", string(cond(kind == 'g', 'e', 'E')), 1), sign+d.integer())
	case lower == 'g':
		d = d.exact('e', int(precision)-1).round(int(precision))
		if d.point > int(precision) || d.point < -3 {
			return sign + d.scientific(max(len(d.digits)-1, 0), kind-2, 2)
		}
		whole, fraction := d.fixed(max(len(d.digits)-d.point, 0))
		return sign + whole + cond(fraction == "", "", ".") + fraction
	}
	failFormat("format specifier was invalid")
	return ""
}

// integer returns all digits of an integer, without its sign.
func (d decimal) integer() string {
	whole, _ := d.fixed(0)
	return whole
}

// scientific returns the number with an exponent of at least so many digits, without its sign.
func (d decimal) scientific(decimals int, e byte, least int) string {
	d = d.round(decimals + 1)
	exponent := d.point - 1
	d.point = 1
	if d.digits == "" {
		exponent, d.point = 0, 0
	}
	whole, fraction := d.fixed(decimals)
	return whole + cond(decimals > 0, ".", "") + fraction + string(e) + exponentText(exponent, true, least)
}

func exponentText(n int, plus bool, least int) string {
	t := strconv.Itoa(max(n, -n))
	return cond(n < 0, "-", cond(plus, "+", "")) + strings.Repeat("0", max(0, least-len(t))) + t
}

// grouped puts commas between thousands.
func grouped(whole string) string {
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole
}

// mark is a part of a custom format: a place of a digit (0 or #), the point, an exponent, or a literal.
type mark struct {
	kind byte // 0, #, ., e for an exponent, or x for a literal
	text string
}

// picture is a section of a custom format.
type picture struct {
	marks         []mark
	before, after int // places of digits before and after the point
	zeros, keep   int // digits that are always there before and after it
	scale         int // the power of ten that the number is multiplied with
	group, e      bool
}

// pictureOf reads a section of a custom format.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/custom-numeric-format-strings.
func pictureOf(section string) picture {
	var p picture
	point, commas := false, 0
	literal := func(text string) { p.marks = append(p.marks, mark{'x', text}) }
	for rest := section; rest != ""; {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case '0', '#':
			p.marks = append(p.marks, mark{c, ""})
			if point {
				if p.after++; c == '0' {
					p.keep = p.after
				}
				continue
			}
			p.group = p.group || commas > 0 && p.before > 0
			commas = 0
			if p.before++; p.zeros > 0 || c == '0' {
				p.zeros++
			}
		case '.':
			if !point {
				p.marks = append(p.marks, mark{'.', ""})
			}
			point = true
		case ',':
			commas += cond(point, 0, 1)
		case '%':
			p.scale += 2
			literal("%")
		case '\'', '"':
			text, more, _ := strings.Cut(rest, string(c))
			literal(text)
			rest = more
		case '\\':
			literal(rest[:min(1, len(rest))])
			rest = rest[min(1, len(rest)):]
		case 'e', 'E':
			more := strings.TrimLeft(rest, "+-")
			if zeros := len(more) - len(strings.TrimLeft(more, "0")); zeros > 0 && len(rest)-len(more) < 2 {
				p.e = true
				p.marks = append(p.marks, mark{'e', string(c) + rest[:len(rest)-len(more)+zeros]})
				rest = more[zeros:]
				continue
			}
			literal(string(c))
		default:
			if c == "‰"[0] && strings.HasPrefix(rest, "‰"[1:]) {
				p.scale += 3
			}
			literal(string([]byte{c}))
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
	if d.point += p.scale; p.e {
		return d.round(p.before + p.after)
	}
	return d.round(d.point + p.after)
}

// custom formats with a picture of digits: sections are for positive, negative and zero.
func (d decimal) custom(spec string) string {
	sections := sectionsOf(spec)
	use := func(i int) int { return cond(i < len(sections) && sections[i] != "", i, 0) }
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
	whole = strings.Repeat("0", max(0, p.zeros-len(whole))) + whole
	fraction = fraction[:max(p.keep, len(strings.TrimRight(fraction, "0")))]
	var out strings.Builder
	if d.negative && section == 0 && n.digits != "" {
		out.WriteByte('-')
	}
	places, used := p.before, 0 // places of digits to come, and digits written
	digits := func(upTo int) {
		for ; used < upTo; used++ {
			out.WriteByte(whole[used])
			if left := len(whole) - used - 1; p.group && left > 0 && left%3 == 0 {
				out.WriteByte(',')
			}
		}
	}
	point := false
	for _, s := range p.marks {
		switch {
		case s.kind == 'x':
			out.WriteString(s.text)
		case s.kind == 'e':
			least := strings.TrimLeft(s.text[1:], "+-")
			out.WriteString(s.text[:1] + exponentText(exponent, s.text[1] == '+', len(least)))
		case s.kind == '.':
			digits(cond(p.before == 0, len(whole), used))
			if point = true; fraction != "" {
				out.WriteByte('.')
			}
		case !point: // the first place takes all digits for which there is none
			places--
			digits(len(whole) - places)
		case fraction != "":
			out.WriteByte(fraction[0])
			fraction = fraction[1:]
		}
	}
	return out.String()
}

// sectionsOf splits a custom format at semicolons outside of quotes.
func sectionsOf(spec string) []string {
	var out []string
	from, quote := 0, byte(0)
	for i := 0; i < len(spec); i++ {
		switch c := spec[i]; {
		case c == '\\':
			i++
		case quote != 0:
			quote = cond(c == quote, 0, quote)
		case c == '\'' || c == '"':
			quote = c
		case c == ';':
			out, from = append(out, spec[from:i]), i+1
		}
	}
	return append(out, spec[min(from, len(spec)):])
}
