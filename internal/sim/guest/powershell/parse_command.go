package powershell

import (
	"strings"
)

// delimiters are the characters that end a word of a command.
const delimiters = " \t\r\n\v\f;|&(){},"

func isDelimiter(c byte) bool { return strings.IndexByte(delimiters, c) >= 0 }

// command reads a command with its arguments and redirections.
func (p *parser) command() (node, error) {
	c := command{position: position(p.pos)}
	var err error
	switch ch := p.peek(); {
	case ch == '&', ch == '.' && strings.IndexByte(" \t\"'$({", p.ahead(1)) >= 0:
		c.operator = ch
		p.pos++
		p.spaces()
		c.name, err = p.argumentValue()
	case p.pos >= len(p.text) || ch == '|':
		return nil, p.fail("An empty pipe element is not allowed.")
	case ch == '<':
		return nil, p.fail("The '<' operator is reserved for future use.")
	case isDelimiter(ch) || ch == '=' || ch == ']':
		return nil, p.fail("Unexpected token '%c' in expression or statement.", ch)
	default:
		c.name, err = p.bareword()
	}
	if err != nil {
		return nil, err
	}
	for {
		p.spaces()
		ch := p.peek()
		if p.pos >= len(p.text) || ch == '\n' || ch == '\r' || ch == ';' || ch == '|' || ch == ')' || ch == '}' {
			return c, nil
		}
		if ch == '<' {
			return nil, p.fail("The '<' operator is reserved for future use.")
		}
		if ch == '&' {
			if p.has("&&") {
				return c, nil // the statement's end refuses &&
			}
			return nil, p.fail("The ampersand (&) character is not allowed. Wrap an ampersand in double " +
				"quotation marks (\"&\") to pass it as part of a string.")
		}
		if r, ok, err := p.redirect(); err != nil {
			return nil, err
		} else if ok {
			c.redirects = append(c.redirects, r)
			continue
		}
		if p.has("--%") && (isDelimiter(p.ahead(3)) || p.ahead(3) == 0) {
			p.verbatim(&c)
			continue
		}
		a, err := p.argument()
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, a)
	}
}

// verbatim reads the rest of the line after --% as one argument of a native program.
func (p *parser) verbatim(c *command) {
	from := p.pos
	p.pos += 3
	for ch := p.peek(); ch != 0 && ch != '\n' && ch != '\r' && ch != '|'; ch = p.peek() {
		p.pos++
	}
	for _, word := range []string{"--%", strings.TrimSpace(p.text[from+3 : p.pos])} {
		c.args = append(c.args, argument{position: position(from), value: constant{position(from), word, word}})
	}
}

// redirects reads redirections, if there are any.
func (p *parser) redirects() ([]redirect, error) {
	var out []redirect
	for {
		end := p.pos
		p.spaces()
		r, ok, err := p.redirect()
		if err != nil || !ok {
			if !ok {
				p.pos = end
			}
			return out, err
		}
		out = append(out, r)
	}
}

// redirect parses a redirection, such as > FILE, 2>> FILE, *> FILE or 2>&1.
func (p *parser) redirect() (r redirect, ok bool, err error) {
	r.stream = '1'
	at := 0
	if c := p.peek(); (c >= '1' && c <= '6' || c == '*') && p.ahead(1) == '>' {
		r.stream, at = c, 1
	}
	if p.ahead(at) != '>' {
		return r, false, nil
	}
	p.pos += at + 1
	if p.peek() == '>' {
		r.adding = true
		p.pos++
	}
	if p.peek() == '&' {
		if p.ahead(1) != '1' {
			return r, false, p.fail("The redirection to '%c' is not one that this version knows.", p.ahead(1))
		}
		p.pos += 2
		r.merge = true
		return r, true, nil
	}
	p.spaces()
	if p.pos >= len(p.text) || isDelimiter(p.peek()) && p.peek() != '(' {
		return r, false, p.fail("Missing file specification after redirection operator.")
	}
	r.target, err = p.argumentValue()
	return r, true, err
}

// argument reads a parameter, a splatted variable or a value.
func (p *parser) argument() (argument, error) {
	a := argument{position: position(p.pos)}
	c, next := p.peek(), p.ahead(1)
	switch {
	case c == '-' && (isLetter(next) || next == '?'):
		return p.parameterArgument(a)
	case c == '@' && isLetter(next):
		p.pos++
		a.splat = strings.ToLower(p.identifier())
		return a, nil
	}
	value, err := p.argumentList()
	a.value = value
	return a, err
}

// parameterArgument reads a parameter, such as -Name or -Name:value.
func (p *parser) parameterArgument(a argument) (argument, error) {
	from := p.pos
	p.pos++
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c == '"' || c == '\'' { // a parameter with a quote in it is a plain word
			p.pos = from
			value, err := p.argumentList()
			a.value = value
			return a, err
		}
		if c == ':' || c == '.' || c == '[' || isDelimiter(c) {
			break
		}
		p.pos++
	}
	a.parameter, a.text = p.text[from+1:p.pos], p.text[from:p.pos]
	if p.peek() == ':' {
		p.pos++
		a.joined, a.text = true, a.text+":"
		p.spaces()
		value, err := p.argumentList()
		a.value = value
		return a, err
	}
	return a, nil
}

// argumentList reads values with commas between them as one argument.
func (p *parser) argumentList() (node, error) { return p.joined(p.argumentValue) }

// argumentValue reads one value of a command's arguments.
func (p *parser) argumentValue() (node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	c, next := p.peek(), p.ahead(1)
	switch {
	case c == '$' && (next == '(' || isLetter(next) || isDigit(next) || strings.IndexByte("{?$^:", next) >= 0):
		from := p.pos
		n, err := p.primary()
		if err != nil {
			return nil, err
		}
		if ch := p.peek(); ch == '.' && !isLetter(p.ahead(1)) || ch != 0 && ch != '.' && ch != '[' && !isDelimiter(ch) && ch != '>' {
			p.pos = from
			return p.bareword()
		}
		return p.postfix(n, false)
	case c == '"' || c == '\'' || c == '(' || c == '{' || c == '@' && strings.IndexByte("({\"'", next) >= 0:
		n, err := p.primary()
		if err != nil {
			return nil, err
		}
		return p.postfix(n, false)
	case p.pos >= len(p.text):
		return nil, p.fail("Missing argument in parameter list.")
	case isDelimiter(c):
		return nil, p.fail("Missing argument in parameter list.")
	}
	return p.bareword()
}

// bareword reads a word without quotes. It may contain variables.
func (p *parser) bareword() (node, error) {
	from := p.pos
	w := textBuilder{text: interpolated{position: position(from), bare: true}}
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case isDelimiter(c), c == '>' && p.pos > from:
			return p.simple(w.done(), from)
		case c == '"' || c == '\'':
			q, err := p.quoted()
			if err != nil {
				return nil, err
			}
			w.add(q)
		case c == '`' && p.pos+1 < len(p.text):
			w.literal.WriteString(p.escape())
		case c == '$':
			if err := w.dollar(p, p.expansion); err != nil {
				return nil, err
			}
		default:
			w.literal.WriteByte(c)
			p.pos++
		}
	}
	return p.simple(w.done(), from)
}

// simple returns the node of a word: a constant if it contains no variables, which is a number if the word is one.
func (p *parser) simple(w interpolated, from int) (node, error) {
	text := p.text[from:p.pos]
	if len(w.parts) == 0 {
		if text == "" {
			return nil, p.fail("Missing argument in parameter list.")
		}
		return constant{position(from), text, text}, nil
	}
	if len(w.parts) > 1 {
		return w, nil
	}
	c, ok := w.parts[0].(constant)
	if !ok {
		return w, nil
	}
	if c.text == text {
		q := &parser{text: text}
		if n, ok := q.number(); ok && q.pos == len(text) {
			n.position, n.text = position(from), text
			return n, nil
		}
	}
	c.position = position(from)
	return c, nil
}
