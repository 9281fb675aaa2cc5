package posh

import (
	"strconv"
	"strings"
	"unicode"
)

// levels are the operators from loose to tight.
var levels = [][]string{{"-or", "-and"}, {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-like", "-notlike", "-match", "-notmatch"}, {"+", "-"}, {"*"}}

func (p *parser) expression(level int) (node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.expression(level + 1)
	if err != nil {
		return nil, err
	}
	for {
		operator := p.operator(levels[level])
		if operator == "" {
			return left, nil
		}
		p.blank(true)
		right, err := p.expression(level + 1)
		if err != nil {
			return nil, err
		}
		left = binary{operator, left, right}
	}
}

// operator takes one of those that a level has.
func (p *parser) operator(of []string) string {
	p.blank(false)
	for _, o := range of {
		rest := p.text[p.at:]
		switch {
		case len(o) > 1:
			if p.word(o) {
				return o
			}
		case strings.HasPrefix(rest, o) && !strings.HasPrefix(rest, o+"=") && !strings.HasPrefix(rest, o+o) && (o != "-" || len(rest) > 1 && !unicode.IsLetter(rune(rest[1]))):
			p.at++
			return o
		}
	}
	return ""
}

func (p *parser) unary() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("the script is nested too deep")
	}
	defer func() { p.depth-- }()
	if p.word("-not") || p.take("!") {
		n, err := p.unary()
		return negate{n}, err
	}
	return p.postfix()
}

func (p *parser) postfix() (node, error) {
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	for {
		switch rest := p.text[p.at:]; {
		case strings.HasPrefix(rest, "++"), strings.HasPrefix(rest, "--"):
			p.at += 2
			by := int64(1)
			if rest[0] == '-' {
				by = -1
			}
			return step{n, by}, nil
		case len(rest) > 1 && rest[0] == '.' && (unicode.IsLetter(rune(rest[1])) || rest[1] == '_'):
			p.at++
			n = member{n, strings.ToLower(p.name())}
			if n, err = p.arguments(n); err != nil {
				return nil, err
			}
		case strings.HasPrefix(rest, "["):
			p.at++
			at, err := p.expression(0)
			if err != nil {
				return nil, err
			}
			if err := p.want("]"); err != nil {
				return nil, err
			}
			n = index{n, at}
		default:
			return n, nil
		}
	}
}

// arguments makes a call of a member that parentheses follow.
func (p *parser) arguments(of node) (node, error) {
	if p.peek() != '(' {
		return of, nil
	}
	p.at++
	args, err := p.expressions()
	return call{of, args}, err
}

// expressions are those up to a closing parenthesis, with commas between them.
func (p *parser) expressions() ([]node, error) {
	var all []node
	for {
		p.blank(true)
		if p.take(")") {
			return all, nil
		}
		if len(all) > 0 {
			if err := p.want(","); err != nil {
				return nil, err
			}
			p.blank(true)
		}
		n, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

func (p *parser) primary() (node, error) {
	p.blank(false)
	switch c := p.peek(); {
	case c == '$':
		return p.variable()
	case c == '\'':
		return p.plain()
	case c == '"':
		return p.expandable()
	case c == '(':
		p.at++
		p.blank(true)
		n, err := p.pipeline()
		if err != nil {
			return nil, err
		}
		p.blank(true)
		return n, p.want(")")
	case strings.HasPrefix(p.text[p.at:], "@{"):
		return p.table()
	case strings.HasPrefix(p.text[p.at:], "@("):
		return p.list()
	case c == '[':
		return p.static()
	case c >= '0' && c <= '9' || c == '-':
		from := p.at
		p.at++
		for p.peek() >= '0' && p.peek() <= '9' {
			p.at++
		}
		n, err := strconv.ParseInt(p.text[from:p.at], 10, 64)
		if err != nil {
			return nil, p.fail("a number is expected")
		}
		return constant{n}, nil
	}
	return nil, p.fail("a value is expected")
}

func (p *parser) variable() (node, error) {
	p.at++
	braced := p.peek() == '{'
	if braced {
		p.at++
	}
	if p.peek() == '(' {
		return nil, p.fail("$( ) outside of a string is not simulated")
	}
	name := strings.ToLower(p.name())
	if braced {
		if err := p.want("}"); err != nil {
			return nil, err
		}
	}
	switch name {
	case "":
		return nil, p.fail("a variable without a name")
	case "true", "false":
		return constant{name == "true"}, nil
	case "null":
		return constant{nil}, nil
	}
	return variable{name}, nil
}

func (p *parser) plain() (node, error) {
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		if p.text[p.at] != '\'' {
			b.WriteByte(p.text[p.at])
			continue
		}
		if strings.HasPrefix(p.text[p.at:], "''") {
			b.WriteByte('\'')
			p.at++
			continue
		}
		p.at++
		return constant{b.String()}, nil
	}
	return nil, p.fail("a string is not closed")
}

// expandable is a string in double quotes, with variables in it.
func (p *parser) expandable() (node, error) {
	var t text
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			t.parts = append(t.parts, constant{b.String()})
			b.Reset()
		}
	}
	escapes := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '0': 0}
	for p.at++; p.at < len(p.text); {
		c, rest := p.text[p.at], p.text[p.at:]
		switch {
		case c == '`' && len(rest) > 1:
			if e, ok := escapes[rest[1]]; ok {
				b.WriteByte(e)
			} else {
				b.WriteByte(rest[1])
			}
			p.at += 2
		case strings.HasPrefix(rest, `""`):
			b.WriteByte('"')
			p.at += 2
		case c == '"':
			p.at++
			flush()
			return t, nil
		case strings.HasPrefix(rest, "$("):
			p.at += 2
			n, err := p.pipeline()
			if err != nil {
				return nil, err
			}
			if err := p.want(")"); err != nil {
				return nil, err
			}
			flush()
			t.parts = append(t.parts, n)
		case c == '$' && len(rest) > 1 && (rest[1] == '{' || rest[1] == '_' || unicode.IsLetter(rune(rest[1]))):
			flush()
			n, err := p.variable()
			if err != nil {
				return nil, err
			}
			t.parts = append(t.parts, n)
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	return nil, p.fail("a string is not closed")
}

func (p *parser) table() (node, error) {
	p.at += 2
	var t table
	for {
		p.blank(true)
		if p.take("}") {
			return t, nil
		}
		var key node
		if c := p.peek(); c == '\'' || c == '"' {
			n, err := p.primary()
			if err != nil {
				return nil, err
			}
			key = n
		} else {
			key = constant{p.name()}
		}
		if err := p.want("="); err != nil {
			return nil, err
		}
		value, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		t.keys, t.values = append(t.keys, key), append(t.values, value)
	}
}

func (p *parser) list() (node, error) {
	p.at += 2
	items, err := p.expressions()
	return list{items}, err
}

// static is [Type]::Member, and [Type]::Method(...).
func (p *parser) static() (node, error) {
	end := strings.IndexByte(p.text[p.at:], ']')
	if end < 0 {
		return nil, p.fail("a type's name is not closed")
	}
	kind := strings.TrimPrefix(strings.ToLower(p.text[p.at+1:p.at+end]), "system.")
	p.at += end + 1
	if !strings.HasPrefix(p.text[p.at:], "::") {
		return nil, p.fail("casts are not simulated")
	}
	p.at += 2
	s := static{kind, strings.ToLower(p.name())}
	if _, ok := types()[s.kind+"::"+s.name]; !ok {
		return nil, p.fail("the type or member is not simulated")
	}
	return p.arguments(s)
}
