package dotnet

import (
	"regexp"
	"strings"
)

// pictureParts matches the parts of a custom format: literals, exponents and signs.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/custom-numeric-format-strings.
var pictureParts = regexp.MustCompile(`(?s)'[^']*'?|"[^"]*"?|\\.?|[eE][-+]?0+|.`)

// formatSection is a section of a custom format.
type formatSection struct {
	parts         []string
	before, after int // digit placeholders before and after the point
	zeros, keep   int // digits that are always written before and after the point
	scale         int // the power of ten by which the number is multiplied
	group, e      bool
}

// isExponent reports whether a part of a custom format is an exponent.
func isExponent(part string) bool { return part[0]|0x20 == 'e' && len(part) > 1 }

func parseSection(parts []string) formatSection {
	p := formatSection{parts: parts}
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

// rounded returns the number as the section shows it.
func (p formatSection) rounded(d Number) Number {
	if d.digits == "" {
		return d
	}
	d.point += p.scale
	return d.round(cond(p.e, p.before, d.point) + p.after)
}

// custom formats a number with a custom format; its sections are for positive, negative and zero values.
func (c *Culture) custom(d Number, spec string) string {
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
	p := parseSection(sections[section])
	n := p.rounded(d)
	if zero := use(2); n.digits == "" && d.digits != "" && zero != section {
		section, p = zero, parseSection(sections[zero])
		n = p.rounded(Number{})
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
	text := p.fill(whole, fraction, exponent)
	signed := n.digits != "" || d.isFloat && !c.framework && text != "" // .NET keeps the sign of a zero
	return cond(d.negative && section == 0 && signed, "-", "") + text
}

// fill writes the digits of a number into the placeholders of the section.
func (p formatSection) fill(whole, fraction string, exponent int) string {
	var out strings.Builder
	places, used, point := p.before, 0, false // placeholders that follow, digits written
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
		case c == '0' || c == '#': // the first placeholder takes all surplus digits
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
