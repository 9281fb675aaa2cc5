package shell

import (
	"errors"
	"fmt"
	"strings"
)

// cmdNode is a parsed command of cmd.exe.
type cmdNode interface{}

type (
	// simpleCommand is the text of a command, and its redirections.
	simpleCommand struct {
		text      string
		redirects []redirect
	}
	blockCommand struct {
		body      cmdNode
		redirects []redirect
	}
	// joinedCommand is two commands with &, &&, || or | between them.
	joinedCommand struct {
		operator    string
		left, right cmdNode
	}
	// remark is rem, which has no effect.
	remark    struct{}
	ifCommand struct {
		fold, not bool
		// test is exist, errorlevel, defined or a comparison.
		test            string
		left, right     string
		then, otherwise cmdNode
	}
	forCommand struct {
		mode     string // l, f, d, r or ""
		folders  bool   // /r with /d
		options  string
		variable byte
		set      string
		body     cmdNode
	}
)

// redirect is a redirection such as > FILE. A file &1 or &2 is another stream.
type redirect struct {
	fd   byte
	op   string
	file string
}

// maxCmdDepth bounds nested blocks.
const maxCmdDepth = 60

var errOpen = errors.New("the script ends within a block")

type cmdParser struct {
	text  string
	pos   int
	depth int
	level int
	// open is set if the command continues on the next line, and caret if it continues because of a caret.
	open, caret, final bool
}

func (p *cmdParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *cmdParser) has(s string) bool { return strings.HasPrefix(p.text[p.pos:], s) }

func (p *cmdParser) blanks(lines bool) {
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c != ' ' && c != '\t' && c != '\r' && !(lines && c == '\n') {
			return
		}
		p.pos++
	}
}

func (p *cmdParser) unexpected() error {
	if p.pos >= len(p.text) {
		if p.depth > 0 {
			p.open = true
			return errOpen
		}
		return saying("The syntax of the command is incorrect.")
	}
	rest := p.text[p.pos:]
	word := rest[:1]
	for _, s := range []string{"&&", "||"} {
		if strings.HasPrefix(rest, s) {
			word = s
		}
	}
	return saying(word + " was unexpected at this time.")
}

// line parses a whole logical line.
func (p *cmdParser) line() (cmdNode, error) {
	n, err := p.sequence()
	if err != nil {
		return nil, err
	}
	p.blanks(true)
	if p.pos < len(p.text) {
		if p.peek() == ')' { // cmd.exe ignores the rest of a line that begins with )
			return n, nil
		}
		return nil, p.unexpected()
	}
	return n, nil
}

// sequence parses commands that are joined by &, and in a block also by newlines.
func (p *cmdParser) sequence() (cmdNode, error) {
	if p.level++; p.level > maxCmdDepth {
		return nil, fmt.Errorf("the script is nested more than %d deep (a bound of the simulation)", maxCmdDepth)
	}
	defer func() { p.level-- }()
	return p.joined(0)
}

var joins = []string{"&", "||", "&&", "|"}

func (p *cmdParser) joined(level int) (cmdNode, error) {
	if level == len(joins) {
		return p.command()
	}
	left, err := p.joined(level + 1)
	if err != nil {
		return nil, err
	}
	for {
		p.blanks(false)
		if level == 0 && p.depth > 0 && p.peek() == '\n' {
			p.blanks(true)
			if p.peek() == ')' {
				return left, nil
			}
			if p.pos >= len(p.text) {
				return nil, p.unexpected()
			}
			right, err := p.joined(1)
			if err != nil {
				return nil, err
			}
			left = joinedCommand{"&", left, right}
			continue
		}
		if !p.join(joins[level]) {
			return left, nil
		}
		if joins[level] == "&" { // a & at the end of a line joins nothing
			p.blanks(false)
			if c := p.peek(); p.pos >= len(p.text) && p.depth == 0 || c == '\n' || c == ')' && p.depth > 0 {
				continue
			}
		}
		p.blanks(p.depth > 0)
		right, err := p.joined(level + 1)
		if err != nil {
			return nil, err
		}
		left = joinedCommand{joins[level], left, right}
	}
}

// join consumes an operator; it returns false if the text has another one, or a longer one such as && for &.
func (p *cmdParser) join(operator string) bool {
	if !p.has(operator) || len(operator) == 1 && p.pos+1 < len(p.text) && p.text[p.pos+1] == operator[0] {
		return false
	}
	p.pos += len(operator)
	return true
}

// command parses one command.
func (p *cmdParser) command() (cmdNode, error) {
	for p.blanks(p.depth > 0); p.peek() == '@' || p.pos < len(p.text) && strings.IndexByte(",;=", p.peek()) >= 0; p.blanks(false) {
		p.pos++
	}
	switch c := p.peek(); {
	case p.pos >= len(p.text):
		if p.depth > 0 {
			return nil, p.unexpected()
		}
		return nil, nil
	case c == '(':
		return p.block()
	case c == '&' || c == '|':
		return nil, p.unexpected()
	case c == ')':
		return nil, nil
	case c == ':': // a label in a block ends its line
		for p.pos < len(p.text) && p.peek() != '\n' {
			p.pos++
		}
		return nil, nil
	}
	switch strings.ToLower(p.word()) {
	case "rem":
		for p.pos < len(p.text) && p.peek() != '\n' {
			p.pos++
		}
		return remark{}, nil
	case "if":
		p.pos += len("if")
		return p.ifCommand()
	case "for":
		p.pos += len("for")
		return p.forCommand()
	}
	return p.simple()
}

// word returns the next word without consuming it.
func (p *cmdParser) word() string {
	end := p.pos
	for end < len(p.text) && strings.IndexByte(" \t\r\n,;=/&|<>()\"", p.text[end]) < 0 {
		end++
	}
	return p.text[p.pos:end]
}

func (p *cmdParser) block() (cmdNode, error) {
	p.pos++
	p.depth++
	p.blanks(true)
	var body cmdNode
	var err error
	if p.peek() != ')' {
		if body, err = p.sequence(); err != nil {
			return nil, err
		}
		p.blanks(true)
	}
	if p.peek() != ')' {
		return nil, p.unexpected()
	}
	p.pos++
	p.depth--
	b := blockCommand{body: body}
	for {
		p.blanks(false)
		r, ok, err := p.redirect()
		if err != nil {
			return nil, err
		}
		if !ok {
			return b, nil
		}
		b.redirects = append(b.redirects, r)
	}
}

// redirect parses a redirection such as > FILE, with an optional number of the stream before it. The second result is
// false if there is none.
func (p *cmdParser) redirect() (redirect, bool, error) {
	at := p.pos
	r := redirect{fd: '1'}
	if c := p.peek(); c >= '0' && c <= '9' && at+1 < len(p.text) && (p.text[at+1] == '>' || p.text[at+1] == '<') {
		r.fd = c
		at++
	} else if c == '<' {
		r.fd = '0'
	}
	if at >= len(p.text) || p.text[at] != '>' && p.text[at] != '<' {
		return r, false, nil
	}
	r.op = p.text[at : at+1]
	p.pos = at + 1
	if r.op == ">" && p.peek() == '>' {
		r.op = ">>"
		p.pos++
	}
	if p.peek() == '&' && p.pos+1 < len(p.text) {
		r.file = p.text[p.pos : p.pos+2]
		p.pos += 2
		return r, true, nil
	}
	p.blanks(false)
	var b strings.Builder
	quoted := false
	for p.pos < len(p.text) {
		c := p.peek()
		if c == '\n' || !quoted && strings.IndexByte(" \t\r&|<>,;=", c) >= 0 || !quoted && c == ')' && p.depth > 0 {
			break
		}
		if c == '"' {
			quoted = !quoted
		}
		if c == '^' && !quoted && p.pos+1 < len(p.text) {
			p.pos++
			c = p.peek()
		}
		b.WriteByte(c)
		p.pos++
	}
	if r.file = b.String(); r.file == "" {
		return r, false, p.unexpected()
	}
	return r, true, nil
}

// simple parses a command's text up to an operator. Blanks before a redirection stay: echo success > f writes
// "success ".
func (p *cmdParser) simple() (cmdNode, error) {
	s := simpleCommand{}
	var b strings.Builder
	quoted := false
	for p.pos < len(p.text) {
		c := p.peek()
		switch {
		case c == '\n', !quoted && (c == '&' || c == '|'), !quoted && c == ')' && p.depth > 0:
			s.text = b.String()
			return s, nil
		case c == '(' && len(s.redirects) > 0 && strings.TrimSpace(b.String()) == "":
			n, err := p.block()
			if block, ok := n.(blockCommand); ok {
				block.redirects = append(s.redirects, block.redirects...)
				return block, err
			}
			return n, err
		case c == '"':
			quoted = !quoted
		case c == '^' && !quoted:
			if strings.TrimRight(p.text[p.pos+1:], " \t\r") == "" && !p.final {
				p.open, p.caret = true, true
				return nil, errOpen
			}
			if p.pos++; p.pos < len(p.text) {
				b.WriteByte(p.peek())
				p.pos++
			}
			continue
		case !quoted && (c == '>' || c == '<' || c >= '0' && c <= '9' && startsWord(b.String())):
			r, ok, err := p.redirect()
			if err != nil {
				return nil, err
			}
			if ok {
				s.redirects = append(s.redirects, r)
				continue
			}
		}
		b.WriteByte(c)
		p.pos++
	}
	s.text = b.String()
	return s, nil
}

// startsWord reports whether the character after a text begins a word.
func startsWord(before string) bool {
	return before == "" || strings.IndexByte(" \t,;=(", before[len(before)-1]) >= 0 || strings.HasSuffix(before, `"`)
}

var comparisons = map[string]bool{"equ": true, "neq": true, "lss": true, "leq": true, "gtr": true, "geq": true}
