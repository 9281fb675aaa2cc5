package powershell

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a script.
const (
	// maxProgram is the maximum size of a script in bytes.
	maxProgram = 4 << 20
	// maxDepth is the maximum depth of nesting in a script.
	maxDepth = 100
)

// ParseError is a syntax error with its position. Nothing of a script with a syntax error runs.
type ParseError struct {
	Line, Column int
	Message      string
	// Missing is set for a construct of PowerShell that the simulation does not have.
	Missing bool
	// Incomplete is set if the script ends within a construct.
	Incomplete bool
}

// Error returns the position and the message.
func (e *ParseError) Error() string {
	return fmt.Sprintf("At line:%d char:%d\r\n%s", e.Line, e.Column, e.Message)
}

type parser struct {
	text  string
	pos   int
	depth int
	// open is the position, counted from 1, of a block comment without an end; 0 if there is none.
	open int
}

// parse parses a whole script.
func parse(script string) (*block, error) {
	if len(script) > maxProgram {
		return nil, &ParseError{Line: 1, Column: 1, Message: fmt.Sprintf("the script is longer than %d bytes", maxProgram)}
	}
	p := &parser{text: plainMarks(strings.TrimPrefix(script, "\ufeff"))}
	b, err := p.block(0)
	if err != nil {
		return nil, err
	}
	b.source = p.text
	return b, nil
}

func (p *parser) fail(format string, a ...any) error {
	line, column := lineAndColumn(p.text, p.pos)
	return &ParseError{Line: line, Column: column, Message: fmt.Sprintf(format, a...), Incomplete: p.pos >= len(p.text)}
}

// missing returns the error for a construct of PowerShell that the simulation does not have.
func (p *parser) missing(what string) error {
	line, column := lineAndColumn(p.text, p.pos)
	return &ParseError{Line: line, Column: column,
		Message: "casement does not simulate " + what + " of PowerShell; nothing of the script was run",
		Missing: true}
}

// lineAndColumn returns the line and column of an offset, both counted from 1.
func lineAndColumn(text string, at int) (line, column int) {
	at = min(max(at, 0), len(text))
	before := text[:at]
	start := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[start:])
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.fail("the script is nested more than %d deep (a bound of the simulation)", maxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) peek() byte { return p.ahead(0) }

func (p *parser) ahead(n int) byte {
	if p.pos+n < len(p.text) {
		return p.text[p.pos+n]
	}
	return 0
}

func (p *parser) has(s string) bool { return strings.HasPrefix(p.text[p.pos:], s) }

// spaces skips blanks, comments and line continuations.
func (p *parser) spaces() {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			p.pos++
		case p.has("\u00a0"):
			p.pos += len("\u00a0")
		case c == '`' && (p.ahead(1) == '\n' || p.ahead(1) == '\r'):
			p.pos += 2
			if p.text[p.pos-1] == '\r' && p.peek() == '\n' {
				p.pos++
			}
		case p.has("<#"):
			end := strings.Index(p.text[p.pos:], "#>")
			if end < 0 {
				p.open = p.pos + 1
				p.pos = len(p.text)
				return
			}
			p.pos += end + 2
		case c == '#':
			for p.pos < len(p.text) && p.text[p.pos] != '\n' && p.text[p.pos] != '\r' {
				p.pos++
			}
		default:
			return
		}
	}
}

// lines skips blanks, comments and the ends of lines.
func (p *parser) lines() {
	for {
		p.spaces()
		if c := p.peek(); c != '\n' && c != '\r' {
			return
		}
		p.pos++
	}
}

// separators skips the ends of statements.
func (p *parser) separators() {
	for {
		p.lines()
		if p.peek() != ';' {
			return
		}
		p.pos++
	}
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// identifier reads letters, digits and underscores.
func (p *parser) identifier() string {
	from := p.pos
	for p.pos < len(p.text) && (isLetter(p.text[p.pos]) || isDigit(p.text[p.pos])) {
		p.pos++
	}
	return p.text[from:p.pos]
}

// keyword skips a word if it is the next word, and reports whether it was.
func (p *parser) keyword(word string) bool {
	end := p.pos + len(word)
	if end > len(p.text) || !strings.EqualFold(p.text[p.pos:end], word) {
		return false
	}
	if end < len(p.text) {
		if c := p.text[end]; isLetter(c) || isDigit(c) || c == '-' || c == '.' || c == '\\' || c == ':' {
			return false
		}
	}
	p.pos = end
	return true
}

// word returns the next word in lower case, without skipping it.
func (p *parser) word() string {
	from := p.pos
	w := strings.ToLower(p.identifier())
	next := p.peek()
	p.pos = from
	if next == '-' || next == '.' || next == '\\' || next == ':' && w != "" {
		return ""
	}
	return w
}

// want skips blanks and a character. It returns an error if the next character is another one.
func (p *parser) want(c byte) error {
	p.lines()
	if p.peek() != c {
		return p.expected(string(c))
	}
	p.pos++
	return nil
}

// expected returns the error for a missing token.
func (p *parser) expected(what string) error {
	if p.pos >= len(p.text) {
		switch what {
		case "}":
			return p.fail("Missing closing '}' in statement block or type definition.")
		case ")":
			return p.fail("Missing closing ')' in expression.")
		}
		return p.fail("Missing '%s' at the end of the script.", what)
	}
	return p.unexpected()
}

// block reads a block up to and including the character end, or up to the end of the script if end is 0.
func (p *parser) block(end byte) (*block, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	b := &block{}
	if err := p.header(b); err != nil {
		return nil, err
	}
	for {
		p.separators()
		if p.peek() == end && (end != 0 || p.pos >= len(p.text)) {
			if end != 0 {
				p.pos++
			} else if p.open > 0 {
				p.pos = p.open - 1
				return nil, p.fail("The terminator '#>' is missing from the multiline comment.")
			}
			return b, nil
		}
		if p.pos >= len(p.text) {
			return nil, p.expected(string(end))
		}
		if err := p.part(b); err != nil {
			return nil, err
		}
	}
}

// part reads a named block, a trap or a statement.
func (p *parser) part(b *block) error {
	into := map[string]*[]node{"begin": &b.begin, "process": &b.process, "end": &b.end}[p.word()]
	if into != nil && p.braceFollows() {
		word := p.word()
		p.pos += len(word)
		body, err := p.braces()
		*into = append(*into, body...)
		b.streams = b.streams || word == "process"
		return err
	}
	if p.keyword("trap") {
		t := trapStatement{}
		p.lines()
		if p.peek() == '[' {
			kind, err := p.typeName()
			if err != nil {
				return err
			}
			t.kind = kind
		}
		body, err := p.braces()
		t.body = body
		b.traps = append(b.traps, t)
		return err
	}
	s, err := p.statement()
	if err != nil {
		return err
	}
	b.end = append(b.end, s)
	return p.ended(s)
}

// braceFollows reports whether a brace follows the next word.
func (p *parser) braceFollows() bool {
	from := p.pos
	defer func() { p.pos = from }()
	p.identifier()
	p.lines()
	return p.peek() == '{'
}

// ended returns an error if a statement is followed by another one without a separator. A statement that ends
// with a block needs none.
func (p *parser) ended(s node) error {
	p.spaces()
	switch c := p.peek(); {
	case p.pos >= len(p.text), c == '\n', c == '\r', c == ';', c == '}', c == ')':
		return nil
	case p.has("&&"), p.has("||"):
		return p.fail("The token '%s' is not a valid statement separator in this version.", p.text[p.pos:p.pos+2])
	case isBlock(s):
		return nil
	}
	return p.unexpected()
}

// unexpected returns the error for the next token.
func (p *parser) unexpected() error {
	at := p.pos
	end := at
	switch c := p.peek(); {
	case c == '"' || c == '\'':
		if _, err := p.quoted(); err == nil {
			end = p.pos
		}
	case c == '$':
		if _, err := p.variable(); err == nil {
			end = p.pos
		}
	default:
		for end < len(p.text) && !isDelimiter(p.text[end]) && p.text[end] != '=' {
			end++
		}
	}
	p.pos = at
	if end == at {
		_, size := utf8.DecodeRuneInString(p.text[at:])
		end = at + size
	}
	return p.fail("Unexpected token '%s' in expression or statement.", p.text[at:end])
}

func isBlock(s node) bool {
	switch s.(type) {
	case conditional, loop, foreachLoop, switchStatement, functionStatement, tryStatement:
		return true
	}
	return false
}

// braces reads { statements }.
func (p *parser) braces() ([]node, error) {
	if err := p.want('{'); err != nil {
		return nil, err
	}
	return p.statements('}')
}

// statements reads statements up to and including the character end.
func (p *parser) statements(end byte) ([]node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var out []node
	for {
		p.separators()
		if p.peek() == end {
			p.pos++
			return out, nil
		}
		if p.pos >= len(p.text) {
			if end == ')' {
				return nil, p.fail("Missing closing ')' in subexpression.")
			}
			return nil, p.expected(string(end))
		}
		if p.word() == "trap" {
			return nil, p.missing("a trap within a statement block")
		}
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		if err := p.ended(s); err != nil {
			return nil, err
		}
	}
}
