package template

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// errFormat is the error of a composite format.
func errFormat(why string) error {
	return fmt.Errorf("the format is invalid: '%s'", why)
}

// maxWidth bounds the alignment in a composite format, as .NET does.
const maxWidth = 1_000_000

// format is .NET's composite formatting: {index,alignment:format}.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/composite-formatting.
func format(s *scope, a []any) (any, error) {
	text, is := a[0].(string)
	if !is {
		return nil, fmt.Errorf("expects its first parameter to be of type 'String'")
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		c := text[i]
		if c != '{' && c != '}' {
			out.WriteByte(c)
			i++
			continue
		}
		if i+1 < len(text) && text[i+1] == c {
			out.WriteByte(c)
			i += 2
			continue
		}
		if c == '}' {
			return nil, errFormat("a closing brace has no opening one")
		}
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			return nil, errFormat("a format item ends prematurely")
		}
		item, err := formatItem(text[i+1:i+end], a[1:])
		if err != nil {
			return nil, err
		}
		if err := s.spend(len(item) / 16); err != nil || out.Len()+len(item) > maxText {
			return nil, errWork
		}
		out.WriteString(item)
		i += end + 1
	}
	return out.String(), nil
}

func formatItem(item string, args []any) (string, error) {
	head, spec, _ := strings.Cut(item, ":")
	place, align, aligned := strings.Cut(head, ",")
	n := len(place) - len(strings.TrimLeft(place, "0123456789"))
	index, err := strconv.Atoi(place[:n])
	switch {
	case err != nil || strings.TrimRight(place[n:], " ") != "":
		return "", errFormat("expected an ASCII digit")
	case index >= len(args):
		return "", errFormat("index (zero based) must be greater than or equal to zero and less than the size of the argument list")
	case strings.Contains(spec, "{"):
		return "", errFormat("an opening brace is in a format item")
	}
	out, err := formatValue(args[index], spec)
	if err != nil || !aligned {
		return out, err
	}
	width, err := strconv.Atoi(strings.TrimSpace(align))
	if err != nil || width >= maxWidth || width <= -maxWidth {
		return "", errFormat("the alignment is not valid")
	}
	blank := strings.Repeat(" ", max(0, max(width, -width)-utf16Len(out)))
	if width < 0 {
		return out + blank, nil
	}
	return blank + out, nil
}

func formatValue(v any, spec string) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case int64:
		return formatNumber(new(big.Rat).SetInt64(v), true, spec)
	case *big.Int:
		return formatNumber(new(big.Rat).SetInt(v), true, spec)
	case float64:
		if spec == "" {
			return strings.TrimSuffix(floatText(v), ".0"), nil
		}
		if r := new(big.Rat).SetFloat64(v); r != nil {
			return formatNumber(r, false, spec)
		}
	}
	if t, ok := plainText(v); ok {
		return t, nil
	}
	return string(Encode(v)), nil
}

// formatNumber formats as .NET does in the invariant culture.
// Sources: https://learn.microsoft.com/dotnet/standard/base-types/standard-numeric-format-strings
// and .../custom-numeric-format-strings.
func formatNumber(n *big.Rat, whole bool, spec string) (string, error) {
	if spec == "" {
		return n.RatString(), nil
	}
	kind, digits := spec[0], spec[1:]
	precision := -1
	if digits != "" {
		p, err := strconv.Atoi(digits)
		if err != nil || p < 0 || digits[0] == '+' || !letter(kind) {
			return customNumber(n, spec)
		}
		precision = p
		if p > maxWidth {
			return "", errFormat("the precision is too large")
		}
	} else if !letter(kind) || kind == '_' {
		return customNumber(n, spec)
	}
	or := func(p int) int {
		if precision < 0 {
			return p
		}
		return precision
	}
	sign, abs := "", new(big.Rat).Abs(n)
	if n.Sign() < 0 {
		sign = "-"
	}
	switch kind {
	case 'D', 'd', 'X', 'x', 'B', 'b':
		if !whole {
			return "", errFormat("format specifier was invalid")
		}
		base := map[byte]int{'d': 10, 'x': 16, 'b': 2}[kind|0x20]
		number := new(big.Int).Set(abs.Num())
		if base != 10 {
			if sign != "" {
				number.Sub(new(big.Int).Lsh(big.NewInt(1), 64), number)
			}
			sign = ""
		}
		t := number.Text(base)
		if kind == 'X' {
			t = strings.ToUpper(t)
		}
		return sign + strings.Repeat("0", max(0, or(0)-len(t))) + t, nil
	case 'C', 'c':
		if sign != "" {
			return "(¤" + grouped(abs.FloatString(or(2))) + ")", nil
		}
		return "¤" + grouped(abs.FloatString(or(2))), nil
	case 'F', 'f':
		return negative(sign, abs.FloatString(or(2))), nil
	case 'N', 'n':
		return negative(sign, grouped(abs.FloatString(or(2)))), nil
	case 'P', 'p':
		return negative(sign, grouped(abs.Mul(abs, big.NewRat(100, 1)).FloatString(or(2)))+" %"), nil
	case 'E', 'e':
		return sign + exponential(abs, or(6), kind, 3), nil
	case 'G', 'g':
		if whole && (precision <= 0 || len(abs.Num().String()) <= precision) {
			return sign + abs.Num().String(), nil
		}
		f, _ := abs.Float64()
		p := precision
		if p <= 0 {
			p = -1
		}
		t := strings.Replace(strconv.FormatFloat(f, 'g', p, 64), "e", string('E'+kind-'G'), 1)
		return sign + t, nil
	case 'R', 'r':
		f, _ := abs.Float64()
		return sign + strings.TrimSuffix(floatText(f), ".0"), nil
	}
	return "", errFormat("format specifier was invalid")
}

// negative puts a sign before a number that did not become 0 by rounding.
func negative(sign, number string) string {
	if strings.Trim(number, "0.,% ") == "" {
		return number
	}
	return sign + number
}

// grouped puts commas between thousands.
func grouped(s string) string {
	whole, rest, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	return whole
}

func exponential(abs *big.Rat, precision int, e byte, least int) string {
	f := new(big.Float).SetPrec(256).SetRat(abs)
	t := f.Text('e', min(precision, 300))
	mantissa, exponent, _ := strings.Cut(t, "e")
	sign, number := exponent[:1], strings.TrimLeft(exponent[1:], "0")
	return mantissa + string(e) + sign + strings.Repeat("0", max(0, least-len(number))) + number
}

// customNumber formats with a picture of digits: sections for positive, negative and zero.
func customNumber(n *big.Rat, spec string) (string, error) {
	sections := sectionsOf(spec)
	picture, sign := sections[0], ""
	switch {
	case n.Sign() < 0 && len(sections) > 1 && sections[1] != "":
		picture = sections[1]
	case n.Sign() == 0 && len(sections) > 2 && sections[2] != "":
		picture = sections[2]
	case n.Sign() < 0:
		sign = "-"
	}
	abs := new(big.Rat).Abs(n)
	// What the picture has before and after its point.
	var before, after, firstZero, commas, scale int
	point, group, percent := false, false, 1
	firstZero = -1
	scan(picture, func(c byte, plain bool) {
		switch {
		case plain:
		case c == '.':
			point = true
		case c == '0' || c == '#':
			if point {
				after++
				break
			}
			if commas > 0 && before > 0 {
				group = true
			}
			commas = 0
			if c == '0' && firstZero < 0 {
				firstZero = before
			}
			before++
		case c == ',' && !point:
			commas++
		case c == '%':
			percent *= 100
		}
	})
	scale = commas
	if before == 0 {
		scale = 0
	}
	abs.Mul(abs, big.NewRat(int64(percent), 1))
	for range scale {
		abs.Quo(abs, big.NewRat(1000, 1))
	}
	digits, fraction, _ := strings.Cut(abs.FloatString(after), ".")
	least := 0
	if firstZero >= 0 {
		least = before - firstZero
	}
	digits = strings.TrimLeft(digits, "0")
	digits = strings.Repeat("0", max(0, least-len(digits))) + digits
	if strings.Trim(digits+fraction, "0") == "" && len(sections) > 2 && n.Sign() != 0 && sections[2] != "" {
		return customNumber(new(big.Rat), spec)
	}
	if strings.Trim(digits+fraction, "0") == "" {
		sign = ""
	}
	// Zeros at the end of the fraction stay as far as the picture has 0.
	keep, at := 0, 0
	point = false
	scan(picture, func(c byte, plain bool) {
		if plain {
			return
		}
		if c == '.' {
			point = true
		} else if point && (c == '0' || c == '#') {
			if at++; c == '0' {
				keep = at
			}
		}
	})
	fraction = fraction[:max(keep, len(strings.TrimRight(fraction, "0")))]
	whole := digits
	if group {
		whole = grouped(digits)
	}
	var out strings.Builder
	out.WriteString(sign)
	point = false
	placed, used, seen := false, 0, 0
	scan(picture, func(c byte, plain bool) {
		switch {
		case plain || c == '%':
			out.WriteByte(c)
		case c == '.':
			if !placed {
				out.WriteString(whole)
				placed = true
			}
			if point = true; fraction != "" {
				out.WriteByte('.')
			}
		case (c == '0' || c == '#') && !point:
			// Literals may be between digits: each place takes its own.
			seen++
			if group {
				if !placed {
					out.WriteString(whole)
					placed = true
				}
				break
			}
			for used < len(digits)-(before-seen) {
				out.WriteByte(digits[used])
				used++
				placed = true
			}
			placed = placed || seen == before
		case (c == '0' || c == '#') && point && fraction != "":
			out.WriteByte(fraction[0])
			fraction = fraction[1:]
		}
	})
	return out.String(), nil
}

// scan calls f for each sign of a picture; plain ones are literals.
func scan(picture string, f func(c byte, plain bool)) {
	for i := 0; i < len(picture); i++ {
		switch c := picture[i]; c {
		case '\'', '"':
			for i++; i < len(picture) && picture[i] != c; i++ {
				f(picture[i], true)
			}
		case '\\':
			if i++; i < len(picture) {
				f(picture[i], true)
			}
		default:
			f(c, strings.IndexByte("0#.,%", c) < 0)
		}
	}
}

// sectionsOf splits a picture at semicolons outside of quotes.
func sectionsOf(spec string) []string {
	var out []string
	from, quote := 0, byte(0)
	for i := 0; i < len(spec); i++ {
		switch c := spec[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ';':
			out, from = append(out, spec[from:i]), i+1
		}
	}
	return append(out, spec[min(from, len(spec)):])
}
