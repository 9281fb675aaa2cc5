package template

import (
	"fmt"
	"strconv"
	"strings"
)

// node is a parsed expression: a literal, a call, or an access to a part of
// another node.
type node struct {
	kind  nodeKind
	value any    // literal
	name  string // call: the function; property: its name
	args  []*node
	// of is the node whose property or element is accessed.
	of *node
}

type nodeKind int

const (
	literal nodeKind = iota
	call
	property
	index
)

// maxExpression is ARM's limit for the length of an expression.
const maxExpression = 24576

// expression parses a string of a template: it returns the expression in it, or, for plain
// text, a nil node and the text.
func expression(text string) (*node, string, error) {
	switch {
	case strings.HasPrefix(text, "[["):
		return nil, text[1:], nil
	case !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]"):
		return nil, text, nil
	case len(text) > maxExpression:
		return nil, "", fmt.Errorf("the expression has %d characters, more than %d", len(text), maxExpression)
	}
	p := &parser{text: text[1 : len(text)-1]}
	n, err := p.term(0)
	if err == nil {
		p.space()
		if p.at < len(p.text) {
			err = p.errorf("there is text after the end")
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("expression %q: %w", shorten(text), err)
	}
	return n, "", nil
}

func shorten(s string) string {
	if len(s) > 120 {
		return s[:120] + "..."
	}
	return s
}

type parser struct {
	text string
	at   int
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("at character %d: %s", p.at+2, fmt.Sprintf(format, args...))
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// maxDepth is the deepest nesting of an expression that is parsed.
const maxDepth = 100

// term parses a literal or a call and the accesses that follow it.
func (p *parser) term(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, p.errorf("it is nested too deeply")
	}
	p.space()
	var n *node
	var err error
	switch c := p.peek(); {
	case c == '\'':
		n, err = p.text_()
	case c == '-' || c >= '0' && c <= '9':
		n, err = p.number()
	case letter(c):
		n, err = p.call(depth)
	default:
		return nil, p.errorf("a value was expected")
	}
	if err != nil {
		return nil, err
	}
	return p.access(n, depth)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// text_ parses a string in single quotes; two quotes inside mean one.
func (p *parser) text_() (*node, error) {
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		if p.text[p.at] != '\'' {
			b.WriteByte(p.text[p.at])
			continue
		}
		if p.at+1 < len(p.text) && p.text[p.at+1] == '\'' {
			b.WriteByte('\'')
			p.at++
			continue
		}
		p.at++
		return &node{kind: literal, value: b.String()}, nil
	}
	return nil, p.errorf("a quote is not closed")
}

func (p *parser) number() (*node, error) {
	from := p.at
	p.at++
	for c := p.peek(); c >= '0' && c <= '9' || c == '.'; c = p.peek() {
		p.at++
	}
	f, err := strconv.ParseFloat(p.text[from:p.at], 64)
	if err != nil {
		return nil, p.errorf("%q is no number", p.text[from:p.at])
	}
	return &node{kind: literal, value: f}, nil
}

func (p *parser) word() string {
	from := p.at
	for c := p.peek(); letter(c) || c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.text[from:p.at]
}

func (p *parser) call(depth int) (*node, error) {
	n := &node{kind: call, name: strings.ToLower(p.word())}
	p.space()
	if p.peek() == '.' { // a namespace of user functions
		return nil, p.errorf("functions of one's own are not supported")
	}
	if p.peek() != '(' {
		return nil, p.errorf("( was expected after %s", n.name)
	}
	p.at++
	for {
		p.space()
		if p.peek() == ')' && len(n.args) == 0 {
			p.at++
			return n, nil
		}
		arg, err := p.term(depth + 1)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, arg)
		p.space()
		switch p.peek() {
		case ',':
			p.at++
		case ')':
			p.at++
			return n, nil
		default:
			return nil, p.errorf(", or ) was expected")
		}
	}
}

// access parses .name and [index] after a term.
func (p *parser) access(n *node, depth int) (*node, error) {
	for {
		p.space()
		switch p.peek() {
		case '.':
			p.at++
			p.space()
			name := p.word()
			if name == "" {
				return nil, p.errorf("a property's name was expected")
			}
			n = &node{kind: property, name: name, of: n}
		case '[':
			p.at++
			i, err := p.term(depth + 1)
			if err != nil {
				return nil, err
			}
			p.space()
			if p.peek() != ']' {
				return nil, p.errorf("] was expected")
			}
			p.at++
			n = &node{kind: index, args: []*node{i}, of: n}
		default:
			return n, nil
		}
	}
}
