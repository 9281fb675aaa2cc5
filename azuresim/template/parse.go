package template

import (
	"strconv"
	"strings"
)

// A node is a part of an expression: a literal (string or int64), a call, or an access.
type node = any

// call is a call of a function, namespaced or not.
type call struct {
	name string
	args []node
}

// access reads a property or an element of what of yields.
type access struct{ of, key node }

const (
	// maxExpression is the longest expression, in characters.
	// Source: https://learn.microsoft.com/azure/azure-resource-manager/templates/best-practices#template-limits.
	maxExpression = 24576
	// maxDepth bounds how deep calls lie in each other.
	maxDepth = 1000
)

// expression returns the text of the expression that a text of a template is. A text that
// begins with [[ means the same text with one bracket.
func expression(s string) (text string, is bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' || s[1] == '[' {
		return "", false
	}
	return s[1 : len(s)-1], true
}

// literal returns what a text of a template that is no expression means.
func literal(s string) string {
	if strings.HasPrefix(s, "[[") && strings.HasSuffix(s, "]") {
		return s[1:]
	}
	return s
}

type parser struct {
	in    string
	at    int
	depth int
	// of the token at hand
	token, start int
	text         string
}

// The tokens of expressions, as messages of Azure name them.
const (
	tokenEnd = iota
	tokenIdentifier
	tokenText
	tokenNumber
	tokenLeft
	tokenRight
	tokenOpen
	tokenClose
	tokenComma
	tokenDot
)

var tokenNames = []string{"EndOfData", "Identifier", "Literal", "Integer", "LeftParenthesis", "RightParenthesis", "LeftSquareBracket",
	"RightSquareBracket", "Comma", "Dot"}

func parse(text string) node {
	if len(text) > maxExpression && utf16Len(text) > maxExpression-2 {
		fail("the template expression is longer than the limit of %d characters", maxExpression)
	}
	p := &parser{in: text}
	p.next()
	n := p.value()
	p.expect(tokenEnd)
	return n
}

// expect refuses another token than the one that has to be at hand.
func (p *parser) expect(token int) {
	if p.token != token {
		fail("unable to parse language expression '%s': expected token '%s' and actual '%s'",
			cut(p.in, 200), tokenNames[token], tokenNames[p.token])
	}
}

// pass goes on after a token that has to be there.
func (p *parser) pass(token int) {
	p.expect(token)
	p.next()
}

func (p *parser) fail(format string, args ...any) {
	defer within("the language expression '%s' is not valid", cut(p.in, 200))
	fail(format, args...)
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// next reads a token.
func (p *parser) next() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n\v\f", p.in[p.at]) >= 0 {
		p.at++
	}
	p.start = p.at
	if p.at == len(p.in) {
		p.token = tokenEnd
		return
	}
	c := p.in[p.at]
	p.at++
	word := func(token int, more func(c byte) bool) {
		for p.at < len(p.in) && more(p.in[p.at]) {
			p.at++
		}
		p.token, p.text = token, p.in[p.start:p.at]
	}
	i := strings.IndexByte("()[],.", c)
	switch {
	case i >= 0:
		p.token = tokenLeft + i
	case letter(c):
		word(tokenIdentifier, func(c byte) bool { return letter(c) || digit(c) })
	case c == '\'':
		p.quoted()
	case digit(c) || c == '-' || c == '+':
		word(tokenNumber, func(c byte) bool { return letter(c) || digit(c) || c == '.' && digit(p.in[p.at-1]) })
	default:
		p.fail("the string character '%c' at position '%d' is not expected", []rune(p.in[p.start:])[0], p.start)
	}
}

// quoted reads a text; two quotes in it are one.
func (p *parser) quoted() {
	for p.token, p.text = tokenText, ""; ; {
		part, rest, ended := strings.Cut(p.in[p.at:], "'")
		if !ended {
			p.fail("the text at position '%d' has no end", p.start)
		}
		p.text += part
		if p.at += len(part) + 1; !strings.HasPrefix(rest, "'") {
			return
		}
		p.text += "'"
		p.at++
	}
}

// value parses a literal, or a call with the accesses that follow it.
func (p *parser) value() node {
	if p.depth++; p.depth > maxDepth {
		fail("the calls of a template expression lie in each other more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	text := p.text
	switch p.token {
	case tokenText:
		p.next()
		return text
	case tokenNumber:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			_, bad := strconv.ParseFloat(text, 64)
			p.fail("the value '%s' at position '%d': %s", text, p.start,
				cond(bad == nil && strings.Contains(text, "."), "float point numbers are not supported", "cannot be converted to number"))
		}
		p.next()
		return n
	}
	p.expect(tokenIdentifier)
	n := p.call()
	for accesses := 0; p.token == tokenDot || p.token == tokenOpen; accesses++ {
		if accesses > maxDepth {
			fail("a template expression has more than %d accesses in a row", maxDepth)
		}
		n = p.access(n)
	}
	return n
}

func (p *parser) call() node {
	c := &call{name: p.text}
	for p.next(); p.token == tokenDot; p.next() {
		p.next()
		p.expect(tokenIdentifier)
		c.name += "." + p.text
	}
	for p.pass(tokenLeft); p.token != tokenRight; {
		if len(c.args) > 0 {
			if p.token != tokenComma {
				p.expect(tokenRight)
			}
			p.next()
		}
		c.args = append(c.args, p.value())
	}
	p.next()
	return c
}

func (p *parser) access(of node) node {
	property := p.token == tokenDot
	if p.next(); property {
		p.expect(tokenIdentifier)
		key := p.text
		p.next()
		return &access{of, key}
	}
	key := p.value()
	p.pass(tokenClose)
	return &access{of, key}
}

// showKey returns the text of an access.
func showKey(key any) string {
	s, _ := key.(string)
	if s != "" && letter(s[0]) && strings.IndexFunc(s, func(r rune) bool { return r > 127 || !letter(byte(r)) && !digit(byte(r)) }) < 0 {
		return "." + s
	}
	return "[" + show(key) + "]"
}

// showCall returns the text of a call.
func showCall(name string, args []any) string {
	return name + "(" + strings.Join(each(args, show), ", ") + ")"
}

// show returns the expression that yields a value, or the text of a part of an expression. It is
// put in where a value is known later only.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null()"
	case bool:
		return strconv.FormatBool(v) + "()"
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case []any:
		return showCall("createArray", v)
	case *Object:
		var pairs []any
		for k, e := range v.All() {
			pairs = append(pairs, k, e)
		}
		return showCall("createObject", pairs)
	case later:
		return v.text
	case *lambda:
		return show(v.source)
	case *call:
		return showCall(v.name, v.args)
	case *access:
		return show(v.of) + showKey(v.key)
	}
	return "json('" + string(Encode(v)) + "')"
}
