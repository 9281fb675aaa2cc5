package template

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
	"casement.dev/casement/internal/dotnet"
)

// A node is a part of an expression: a literal (string or int64), a call, or an access.
type node = any

// call is a call of a function, namespaced or not.
type call struct {
	name string
	args []node
}

// access reads a property or an element (key) of the value of another node (of).
type access struct{ of, key node }

const (
	// maxExpression is the longest expression, in characters.
	// Source: https://learn.microsoft.com/azure/azure-resource-manager/templates/best-practices#template-limits.
	maxExpression = 24576
	// maxDepth is the largest depth of nested calls.
	maxDepth = 1000
)

// expression returns the expression inside a string of a template; is is false for a plain string,
// whose text is returned. A leading [[ in a plain string is the escape of one [.
func expression(s string) (text string, is bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return s, false
	}
	return cond(s[1] == '[', s[1:], s[1:len(s)-1]), s[1] != '['
}

// tokens matches a token: an identifier, a text, a number or a sign.
var tokens = regexp.MustCompile(`^[ \t\r\n\v\f]*(?:([A-Za-z_][A-Za-z0-9_]*)|('(?:[^']|'')*')|` +
	`((?:[-+]|[0-9]\.?)(?:[0-9]\.|[A-Za-z0-9_])*)|([()\[\],.])|$)`)

// The kinds of tokens; a sign is its own kind.
const (
	tokenEnd        = ""
	tokenIdentifier = "x"
	tokenText       = "'"
	tokenNumber     = "1"
)

// tokenNames are the names of the kinds of tokens in Azure's messages.
var tokenNames = map[string]string{tokenEnd: "EndOfData", tokenIdentifier: "Identifier", tokenText: "Literal", tokenNumber: "Integer",
	"(": "LeftParenthesis", ")": "RightParenthesis", "[": "LeftSquareBracket", "]": "RightSquareBracket", ",": "Comma", ".": "Dot"}

type parser struct {
	in, rest    string
	depth       int
	token, text string // the current token
}

func parse(text string) node {
	if len(text) > maxExpression && dotnet.Len(text) > maxExpression-2 {
		fail("the template expression is longer than the limit of %d characters", maxExpression)
	}
	p := &parser{in: text, rest: text}
	p.next()
	n := p.value()
	p.expect(tokenEnd)
	return n
}

// expect fails unless the current token has a kind.
func (p *parser) expect(token string) {
	if p.token != token {
		fail("unable to parse language expression '%.200s': expected token '%s' and actual '%s'",
			p.in, tokenNames[token], tokenNames[p.token])
	}
}

// pass returns the text of the current token and reads the next one; it fails unless the current
// token has the given kind.
func (p *parser) pass(token string) string {
	text := p.text
	p.expect(token)
	p.next()
	return text
}

func (p *parser) fail(format string, args ...any) {
	defer within("the language expression '%.200s' is not valid", p.in)
	fail(format, args...)
}

// next reads a token.
func (p *parser) next() {
	m := tokens.FindStringSubmatch(p.rest)
	if m == nil {
		rest := strings.TrimLeft(p.rest, " \t\r\n\v\f")
		p.fail("the string character '%c' at position '%d' is not expected", []rune(rest)[0], len(p.in)-len(rest))
	}
	p.rest, p.text = p.rest[len(m[0]):], cmp.Or(m[1:]...)
	for i, kind := range []string{tokenIdentifier, tokenText, tokenNumber, m[4]} {
		if p.token = kind; m[i+1] != "" {
			break
		}
	}
}

// value parses a literal, or a call with the accesses that follow it.
func (p *parser) value() node {
	if p.depth++; p.depth > maxDepth {
		fail("the calls of a template expression lie in each other more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.token {
	case tokenText:
		text := p.pass(tokenText)
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	case tokenNumber:
		text := p.pass(tokenNumber)
		n, err := strconv.ParseInt(text, 10, 64)
		if _, bad := strconv.ParseFloat(text, 64); err != nil {
			p.fail("the value '%s' %s", text,
				cond(bad == nil && strings.Contains(text, "."), "is a number with a point, which is not supported", "cannot be converted to number"))
		}
		return n
	}
	n := p.call()
	for accesses := 0; p.token == "." || p.token == "["; accesses++ {
		if accesses > maxDepth {
			fail("a template expression has more than %d accesses in a row", maxDepth)
		}
		n = p.access(n)
	}
	return n
}

func (p *parser) call() node {
	c := &call{name: p.pass(tokenIdentifier)}
	for p.token == "." {
		p.next()
		c.name += "." + p.pass(tokenIdentifier)
	}
	for p.pass("("); p.token != ")"; {
		if len(c.args) > 0 {
			p.pass(cond(p.token == ",", ",", ")"))
		}
		c.args = append(c.args, p.value())
	}
	p.next()
	return c
}

func (p *parser) access(of node) node {
	if p.token == "." {
		p.next()
		return &access{of, p.pass(tokenIdentifier)}
	}
	p.next()
	key := p.value()
	p.pass("]")
	return &access{of, key}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// showKey returns the text of an access to a key.
func showKey(key any) string {
	if s, _ := key.(string); identifier.MatchString(s) {
		return "." + s
	}
	return "[" + show(key) + "]"
}

// showCall returns the text of a call.
func showCall(name string, args []any) string {
	return name + "(" + strings.Join(each(args, show), ", ") + ")"
}

// show returns an expression that yields a value, or the text of a part of an expression. It is
// used for the text of a Later.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null()"
	case bool:
		return strconv.FormatBool(v) + "()"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case []any:
		return showCall("createArray", v)
	case *datum.Object:
		var pairs []any
		for k, e := range v.All() {
			pairs = append(pairs, k, e)
		}
		return showCall("createObject", pairs)
	case datum.Later:
		return v.Text
	case *lambda:
		return show(v.source)
	case *call:
		return showCall(v.name, v.args)
	case *access:
		return show(v.of) + showKey(v.key)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return "json('" + string(datum.Encode(v)) + "')"
}
