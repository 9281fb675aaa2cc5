package template

import (
	"fmt"
	"strconv"
	"strings"
)

// A node is a part of an expression: a literal (string or int64), a call, or an access.
type node any

// call is a call of a function, namespaced or not.
type call struct {
	name string
	args []node
}

// access reads a property or an element of what of yields.
type access struct {
	of  node
	key node
}

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

func parse(text string) (node, error) {
	if len(text) > maxExpression && utf16Len(text) > maxExpression-2 {
		return nil, fmt.Errorf("the template expression is longer than the limit of %d characters", maxExpression)
	}
	p := &parser{in: text}
	if err := p.next(); err != nil {
		return nil, err
	}
	n, err := p.value()
	if err == nil && p.token != tokenEnd {
		err = p.expected(tokenEnd)
	}
	return n, err
}

func (p *parser) expected(token int) error {
	return fmt.Errorf("unable to parse language expression '%s': expected token '%s' and actual '%s'",
		cut(p.in, 200), tokenNames[token], tokenNames[p.token])
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// next reads a token.
func (p *parser) next() error {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n\v\f", p.in[p.at]) >= 0 {
		p.at++
	}
	p.start = p.at
	if p.at == len(p.in) {
		p.token = tokenEnd
		return nil
	}
	c := p.in[p.at]
	if i := strings.IndexByte("()[],.", c); i >= 0 {
		p.token = tokenLeft + i
		p.at++
		return nil
	}
	switch {
	case letter(c):
		for p.at < len(p.in) && (letter(p.in[p.at]) || digit(p.in[p.at])) {
			p.at++
		}
		p.token, p.text = tokenIdentifier, p.in[p.start:p.at]
		return nil
	case c == '\'':
		return p.quoted()
	case digit(c) || c == '-' || c == '+':
		for p.at++; p.at < len(p.in) && (letter(p.in[p.at]) || digit(p.in[p.at]) || p.in[p.at] == '.' && digit(p.in[p.at-1])); {
			p.at++
		}
		p.token, p.text = tokenNumber, p.in[p.start:p.at]
		return nil
	}
	return fmt.Errorf("the language expression '%s' is not valid: the string character '%c' at position '%d' is not expected",
		cut(p.in, 200), []rune(p.in[p.at:])[0], p.at)
}

func (p *parser) quoted() error {
	var out strings.Builder
	for p.at++; p.at < len(p.in); p.at++ {
		if p.in[p.at] != '\'' {
			out.WriteByte(p.in[p.at])
			continue
		}
		if p.at+1 < len(p.in) && p.in[p.at+1] == '\'' {
			out.WriteByte('\'')
			p.at++
			continue
		}
		p.at++
		p.token, p.text = tokenText, out.String()
		return nil
	}
	return fmt.Errorf("the language expression '%s' is not valid: the text at position '%d' has no end", cut(p.in, 200), p.start)
}

// value parses a literal, or a call with the accesses that follow it.
func (p *parser) value() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("the calls of a template expression lie in each other more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.token {
	case tokenText:
		s := p.text
		return s, p.next()
	case tokenNumber:
		n, err := strconv.ParseInt(p.text, 10, 64)
		if err != nil {
			why := "cannot be converted to number"
			if f, bad := strconv.ParseFloat(p.text, 64); bad == nil && f == f && strings.Contains(p.text, ".") {
				why = "float point numbers are not supported"
			}
			return nil, fmt.Errorf("the language expression '%s' is not valid: the value '%s' at position '%d': %s",
				cut(p.in, 200), p.text, p.start, why)
		}
		return n, p.next()
	case tokenIdentifier:
	default:
		return nil, p.expected(tokenIdentifier)
	}
	n, err := p.call()
	for depth := 0; err == nil && (p.token == tokenDot || p.token == tokenOpen); depth++ {
		if depth > maxDepth {
			return nil, fmt.Errorf("a template expression has more than %d accesses in a row", maxDepth)
		}
		n, err = p.access(n)
	}
	return n, err
}

func (p *parser) call() (node, error) {
	c := &call{name: p.text}
	for {
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.token != tokenDot {
			break
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.token != tokenIdentifier {
			return nil, p.expected(tokenIdentifier)
		}
		c.name += "." + p.text
	}
	if p.token != tokenLeft {
		return nil, p.expected(tokenLeft)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	for p.token != tokenRight {
		if len(c.args) > 0 {
			if p.token != tokenComma {
				return nil, p.expected(tokenRight)
			}
			if err := p.next(); err != nil {
				return nil, err
			}
		}
		arg, err := p.value()
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, arg)
	}
	return c, p.next()
}

func (p *parser) access(of node) (node, error) {
	property := p.token == tokenDot
	if err := p.next(); err != nil {
		return nil, err
	}
	if property {
		if p.token != tokenIdentifier {
			return nil, p.expected(tokenIdentifier)
		}
		return &access{of, p.text}, p.next()
	}
	key, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.token != tokenClose {
		return nil, p.expected(tokenClose)
	}
	return &access{of, key}, p.next()
}

// show returns the text of a node; it is put in where a value is known later only.
func show(n node) string {
	switch n := n.(type) {
	case *call:
		args := make([]string, len(n.args))
		for i, a := range n.args {
			args[i] = show(a)
		}
		return n.name + "(" + strings.Join(args, ", ") + ")"
	case *access:
		return show(n.of) + showKey(n.key)
	}
	return showValue(n)
}

// showKey returns the text of an access.
func showKey(key any) string {
	if s, ok := key.(string); ok && s != "" && letter(s[0]) && strings.IndexFunc(s, func(r rune) bool {
		return r > 127 || !letter(byte(r)) && !digit(byte(r))
	}) < 0 {
		return "." + s
	}
	if c, ok := key.(*call); ok {
		return "[" + show(c) + "]"
	}
	return "[" + showValue(key) + "]"
}

// showValue returns the expression that yields a value.
func showValue(v any) string {
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
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = showValue(e)
		}
		return "createArray(" + strings.Join(parts, ", ") + ")"
	case *Object:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, showValue(k), showValue(e))
		}
		return "createObject(" + strings.Join(parts, ", ") + ")"
	case later:
		return v.text
	case *lambda:
		return show(v.source)
	case *call, *access:
		return show(v)
	}
	return "json('" + string(Encode(v)) + "')"
}
