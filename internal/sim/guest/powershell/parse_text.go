package powershell

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

var multiples = map[string]float64{"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "pb": 1 << 50}

// number reads a number that is a whole word. If the result is false, the position stays unchanged.
func (p *parser) number() (constant, bool) {
	from := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	value, ok := p.digits()
	if ok {
		c := p.peek()
		// 7z is a name. A number may be followed by a member (2.ToString) or a range (1..3).
		ok = !isLetter(c) && c != '\\' && c != ':' && (c != '.' || p.ahead(1) == '.' || isLetter(p.ahead(1)))
	}
	if !ok {
		p.pos = from
		return constant{}, false
	}
	if p.text[from] == '-' {
		switch v := value.(type) {
		case int64:
			value = -v
		case float64:
			value = -v
		case sized:
			value = sizedOf(v.kind, -v.n)
		case decimal:
			v.n.Neg(v.n)
		}
	}
	return constant{position(from), value, p.text[from:p.pos]}, true
}

// digits reads an unsigned number with its suffix; the result is false if it is not valid.
func (p *parser) digits() (any, bool) {
	from := p.pos
	if p.peek() == '0' && p.ahead(1)|0x20 == 'x' {
		p.pos += 2
		for c := p.peek(); isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'; c = p.peek() {
			p.pos++
		}
		n, err := strconv.ParseUint(p.text[from+2:p.pos], 16, 64)
		if err == nil && n <= math.MaxUint32 && n > math.MaxInt32 {
			return int64(int32(uint32(n))), true // as in Windows PowerShell, 0xFFFFFFFF is -1
		}
		return int64(n), err == nil
	}
	real := false
	for isDigit(p.peek()) {
		p.pos++
	}
	if next := p.ahead(1); p.peek() == '.' && (isDigit(next) || p.pos > from && next != '.' && !isLetter(next)) {
		real = true
		for p.pos++; isDigit(p.peek()); {
			p.pos++
		}
	}
	if e := p.peek() | 0x20; e == 'e' && (isDigit(p.ahead(1)) || (p.ahead(1) == '+' || p.ahead(1) == '-') && isDigit(p.ahead(2))) {
		real = true
		for p.pos += 2; isDigit(p.peek()); {
			p.pos++
		}
	}
	text := p.text[from:p.pos]
	if text == "" || text == "." {
		return nil, false
	}
	suffix := p.suffix()
	times := 1.0
	if len(suffix) >= 2 {
		times = multiples[suffix[len(suffix)-2:]]
	}
	if strings.HasPrefix(suffix, "d") {
		d, ok := parseDecimal(text)
		if ok && times != 1 {
			d.n.Mul(d.n, big.NewInt(int64(times)))
		}
		return d, ok
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && !real {
		if f := float64(n) * times; times == 1 || math.Abs(f) < 1<<62 {
			if strings.HasPrefix(suffix, "l") {
				return sizedOf("Int64", n*int64(times)), true
			}
			return n * int64(times), true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if !real && times == 1 && f < 7.9e28 { // the whole number is too large for an Int64
		return parseDecimal(text)
	}
	return f * times, err == nil
}

// suffix skips the suffix of a number, such as l, d or kb, and returns it.
func (p *parser) suffix() string {
	from := p.pos
	if c := p.peek() | 0x20; c == 'l' || c == 'd' {
		p.pos++
	}
	if p.pos+1 < len(p.text) {
		if _, ok := multiples[strings.ToLower(p.text[p.pos:p.pos+2])]; ok {
			p.pos += 2
		}
	}
	return strings.ToLower(p.text[from:p.pos])
}

// variable reads $name, $scope:name, ${name}, $?, $$ or $^.
func (p *parser) variable() (node, error) {
	from := position(p.pos)
	p.pos++
	switch c := p.peek(); {
	case c == '{':
		end := strings.IndexByte(p.text[p.pos:], '}')
		if end < 0 {
			return nil, p.expected("}")
		}
		name := p.text[p.pos+1 : p.pos+end]
		p.pos += end + 1
		name = strings.ReplaceAll(name, "`", "")
		return variable{from, strings.ToLower(name), name}, nil
	case c == '$' || c == '^':
		p.pos++
		return constant{from, nil, ""}, nil // a script has no previous line of input
	case c == '?':
		p.pos++
		return variable{from, "?", "?"}, nil
	}
	name := p.variableName()
	if name == "" {
		return nil, p.fail("Unexpected token '$' in expression or statement.")
	}
	return variable{from, strings.ToLower(name), name}, nil
}

// variableName reads a variable's name with its scope or drive.
func (p *parser) variableName() string {
	from := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c == ':' {
			if next := p.ahead(1); next == ':' || !isLetter(next) && !isDigit(next) || p.pos == from {
				break
			}
		} else if !isLetter(c) && !isDigit(c) && c != '?' {
			break
		}
		p.pos++
	}
	return p.text[from:p.pos]
}

// expansion reads a variable or $( ) within a text; ok is false if the dollar is a plain character.
func (p *parser) expansion() (n node, ok bool, err error) {
	next := p.ahead(1)
	switch {
	case next == '(', next == '{', next == '?', next == '$', next == '^':
	case isLetter(next), isDigit(next):
	case next == ':' && isLetter(p.ahead(2)):
	default:
		return nil, false, nil
	}
	n, err = p.primary()
	return n, true, err
}

// escape reads a backtick with the character after it, and returns the text.
func (p *parser) escape() string {
	p.pos++
	c := p.text[p.pos]
	p.pos++
	switch c {
	case '\r':
		if p.peek() == '\n' {
			p.pos++
		}
		return ""
	case '\n':
		return ""
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '0':
		return "\x00"
	case 'a':
		return "\a"
	case 'b':
		return "\b"
	case 'f':
		return "\f"
	case 'v':
		return "\v"
	}
	return string([]byte{c}) // this is the first byte of a longer character; the others follow unchanged
}

// textBuilder collects the literal parts and the values of a text.
type textBuilder struct {
	text    interpolated
	literal strings.Builder // the literal text since the last value
}

// add appends a value after the literal text so far.
func (b *textBuilder) add(n node) {
	b.end()
	b.text.parts = append(b.text.parts, n)
}

func (b *textBuilder) end() {
	if b.literal.Len() > 0 {
		b.text.parts = append(b.text.parts, constant{b.text.position, b.literal.String(), b.literal.String()})
		b.literal.Reset()
	}
}

// dollar adds the variable or subexpression that a dollar starts, or else the dollar itself.
func (b *textBuilder) dollar(p *parser, expand func() (node, bool, error)) error {
	n, ok, err := expand()
	switch {
	case err != nil:
		return err
	case ok:
		b.add(n)
	default:
		b.literal.WriteByte('$')
		p.pos++
	}
	return nil
}

// done returns the complete text.
func (b *textBuilder) done() interpolated {
	b.end()
	return b.text
}

// quoted reads 'text' or "text".
func (p *parser) quoted() (node, error) {
	from := p.pos
	quote := p.peek()
	p.pos++
	t := textBuilder{text: interpolated{position: position(from)}}
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case c == quote && p.ahead(1) == quote:
			t.literal.WriteByte(c)
			p.pos += 2
		case c == quote:
			p.pos++
			return literalOr(t.done()), nil
		case quote == '"' && c == '`' && p.pos+1 < len(p.text):
			t.literal.WriteString(p.escape())
		case quote == '"' && c == '$':
			if err := t.dollar(p, p.textExpansion); err != nil {
				return nil, err
			}
		default:
			t.literal.WriteByte(c)
			p.pos++
		}
	}
	p.pos = len(p.text)
	return nil, p.fail("The string is missing the terminator: %c.", quote)
}

// textExpansion is like expansion, for a text in quotes. There a colon after a name must be followed by a name.
func (p *parser) textExpansion() (node, bool, error) {
	braced := p.ahead(1) == '{' || p.ahead(1) == '('
	n, ok, err := p.expansion()
	if _, isVariable := n.(variable); ok && isVariable && !braced && p.peek() == ':' && p.ahead(1) != ':' {
		return nil, false, p.fail("Variable reference is not valid. ':' was not followed by a valid variable " +
			"name character. Consider using ${} to delimit the name.")
	}
	return n, ok, err
}

// literalOr returns a constant if a text contains no values.
func literalOr(t interpolated) node {
	switch len(t.parts) {
	case 0:
		return constant{t.position, "", ""}
	case 1:
		if c, ok := t.parts[0].(constant); ok {
			return c
		}
	}
	return t
}

// hereString reads @" ... "@ and @' ... '@.
func (p *parser) hereString() (node, error) {
	from := p.pos
	quote := p.text[p.pos+1]
	p.pos += 2
	for p.peek() == ' ' || p.peek() == '\t' {
		p.pos++
	}
	if p.peek() == '\r' {
		p.pos++
	}
	if p.peek() != '\n' {
		return nil, p.fail("No characters are allowed after a here-string header but before the end of the line.")
	}
	p.pos++
	end := strings.Index(p.text[p.pos-1:], "\n"+string(quote)+"@")
	if end < 0 {
		p.pos = len(p.text)
		return nil, p.fail("The string is missing the terminator: %c@.", quote)
	}
	end += p.pos - 1
	body := ""
	if end > p.pos {
		body = strings.TrimSuffix(p.text[p.pos:end], "\r")
	}
	after := end + len("\n\"@")
	if quote == '\'' {
		p.pos = after
		return constant{position(from), body, body}, nil
	}
	n, err := p.within(body)
	p.pos = after
	if err != nil {
		return nil, err
	}
	return n, nil
}

// within reads the text of a here-string, in which quotes have no meaning.
func (p *parser) within(body string) (node, error) {
	q := &parser{text: p.text[:p.pos+len(body)], pos: p.pos, depth: p.depth}
	t := textBuilder{text: interpolated{position: position(p.pos)}}
	for q.pos < len(q.text) {
		c := q.text[q.pos]
		switch {
		case c == '`' && q.pos+1 < len(q.text):
			t.literal.WriteString(q.escape())
		case c == '$':
			if err := t.dollar(q, q.textExpansion); err != nil {
				return nil, err
			}
		default:
			t.literal.WriteByte(c)
			q.pos++
		}
	}
	return literalOr(t.done()), nil
}
