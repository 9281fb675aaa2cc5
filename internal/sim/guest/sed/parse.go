package sed

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/regex"
)

// Unsupported is the error for a feature of sed that this package does not have.
type Unsupported string

// Error implements error.
func (u Unsupported) Error() string { return string(u) }

// Program is a parsed script.
type Program struct {
	// End is the line separator: a newline, or a zero byte.
	End      string
	commands []*command
	labels   map[string]int
}

type command struct {
	from, to *address
	not      bool
	name     byte
	text     string // the text of a, i and c; a label; the name of a file
	code     int    // of q and Q
	end      int    // the index of the command that ends a block
	sub      *substitution
	pairs    map[rune]rune // the characters that y replaces
	active   bool          // the current line is in the range
	closed   bool          // the range, which began at a line number, has ended
	until    int
}

type address struct {
	line, step int // N, or first~step; step is -1 for +N, -2 for ~N
	last       bool
	re         *regex.Pattern
	empty      bool // //, the pattern that was used last
}

type substitution struct {
	re            *regex.Pattern
	empty         bool
	replacement   []piece
	global, print bool
	number        int
	file          string
}

// piece is a part of a replacement: a text, a group or a change of case.
type piece struct {
	text  string
	group int // -1 if it is no group
	fold  byte
}

type parser struct {
	text     string
	at       int
	extended bool
	blocks   []int
	program  Program
}

// Parse parses a script. The parts of several -e are joined by newlines.
func Parse(script string, extended bool) (*Program, error) {
	p := parser{text: script, extended: extended, program: Program{End: "\n", labels: map[string]int{}}}
	for {
		p.skip(" \t\n;")
		if p.at >= len(p.text) {
			break
		}
		if err := p.command(); err != nil {
			return nil, err
		}
	}
	if len(p.blocks) > 0 {
		return nil, errors.New("unmatched `{'")
	}
	for _, c := range p.program.commands {
		if _, ok := p.program.labels[c.text]; strings.IndexByte("btT", c.name) >= 0 && c.text != "" && !ok {
			return nil, fmt.Errorf("can't find label for jump to `%s'", c.text)
		}
	}
	return &p.program, nil
}

func (p *parser) skip(set string) {
	for p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) command() error {
	c := &command{}
	var err error
	if c.from, err = p.address(); err != nil {
		return err
	}
	p.skip(" \t")
	if c.from != nil && p.peek() == ',' {
		p.at++
		p.skip(" \t")
		if c.to, err = p.address(); err != nil {
			return err
		}
		if c.to == nil {
			return errors.New("unexpected `,'")
		}
	}
	p.skip(" \t")
	for p.peek() == '!' {
		c.not = true
		p.at++
		p.skip(" \t")
	}
	c.name = p.peek()
	p.at++
	return p.body(c)
}

// body parses the arguments of a command.
func (p *parser) body(c *command) error {
	switch c.name {
	case 0:
		return errors.New("missing command")
	case '#':
		p.line()
		return nil
	case '{':
		p.blocks = append(p.blocks, len(p.program.commands))
		p.program.commands = append(p.program.commands, c)
		return nil
	case '}':
		if len(p.blocks) == 0 {
			return errors.New("unexpected `}'")
		}
		last := len(p.blocks) - 1
		p.program.commands[p.blocks[last]].end = len(p.program.commands)
		p.blocks = p.blocks[:last]
		return p.expectEnd()
	case ':':
		p.skip(" \t")
		p.program.labels[p.label(" \t\n;")] = len(p.program.commands)
		return nil
	}
	p.program.commands = append(p.program.commands, c)
	switch c.name {
	case 's':
		return p.substitution(c)
	case 'y':
		return p.transliteration(c)
	case 'a', 'i', 'c':
		return p.addedText(c)
	case 'b', 't', 'T':
		p.skip(" \t")
		c.text = p.label(" \t\n;}")
		return p.expectEnd()
	case 'r', 'w':
		p.skip(" \t")
		c.text = p.line()
		return nil
	case 'q', 'Q':
		p.skip(" \t")
		digits := p.label(" \t\n;}")
		c.code, _ = strconv.Atoi(digits)
		return p.expectEnd()
	case 'l':
		if p.skip(" \t"); p.digits() != "" {
			return Unsupported("the width of l")
		}
		return p.expectEnd()
	case 'd', 'D', 'p', 'P', 'n', 'N', 'g', 'G', 'h', 'H', 'x', '=', 'z':
		return p.expectEnd()
	case 'e', 'F', 'R', 'W', 'v':
		return Unsupported("the command " + string(c.name))
	}
	return fmt.Errorf("unknown command: `%c'", c.name)
}

// expectEnd returns an error if anything else follows a command.
func (p *parser) expectEnd() error {
	p.skip(" \t")
	switch p.peek() {
	case 0, ';', '\n', '}', '#':
		return nil
	}
	return errors.New("extra characters after command")
}

func (p *parser) label(stop string) string {
	from := p.at
	for p.at < len(p.text) && strings.IndexByte(stop, p.text[p.at]) < 0 {
		p.at++
	}
	return p.text[from:p.at]
}

func (p *parser) line() string {
	text := p.label("\n")
	p.at++
	return text
}

func (p *parser) number() int {
	n, _ := strconv.Atoi(p.digits())
	return n
}

func (p *parser) digits() string {
	from := p.at
	for p.peek() >= '0' && p.peek() <= '9' {
		p.at++
	}
	return p.text[from:p.at]
}

func (p *parser) address() (*address, error) {
	switch c := p.peek(); {
	case c >= '0' && c <= '9':
		a := &address{line: p.number()}
		if p.peek() == '~' {
			p.at++
			a.step = max(p.number(), 1)
		}
		return a, nil
	case c == '+':
		p.at++
		return &address{line: p.number(), step: -1}, nil
	case c == '~':
		p.at++
		return &address{line: max(p.number(), 1), step: -2}, nil
	case c == '$':
		p.at++
		return &address{last: true}, nil
	case c == '/' || c == '\\':
		p.at++
		if c == '\\' {
			c = p.peek()
			p.at++
		}
		pattern, err := p.delimited(c, true)
		if err != nil {
			return nil, errors.New("unterminated address regex")
		}
		o := regex.Options{Extended: p.extended}
		for p.peek() == 'I' || p.peek() == 'M' {
			o.IgnoreCase, o.Multiline = o.IgnoreCase || p.peek() == 'I', o.Multiline || p.peek() == 'M'
			p.at++
		}
		if pattern == "" {
			return &address{empty: true}, nil
		}
		re, err := compile(pattern, o)
		return &address{re: re}, err
	}
	return nil, nil
}

func compile(pattern string, o regex.Options) (*regex.Pattern, error) {
	re, err := regex.Any(pattern, o)
	if errors.Is(err, regex.ErrUnsupported) {
		return nil, Unsupported(err.Error())
	}
	return re, err
}

// delimited reads up to an unescaped delimiter. As in POSIX, a delimiter inside a bracket expression of a pattern
// does not end the pattern; an escaped delimiter is the literal character.
func (p *parser) delimited(end byte, pattern bool) (string, error) {
	var b strings.Builder
	bracket := false
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		switch {
		case c == '\\' && p.at+1 < len(p.text) && !bracket:
			p.at++
			next := p.text[p.at]
			switch {
			case next == end && strings.IndexByte("|+?(){}", next) < 0:
				if pattern && strings.IndexByte(".*[]^$", next) >= 0 || !pattern && next == '&' {
					b.WriteByte('\\')
				}
			case next == end: // \| with the delimiter | is the literal character
			default:
				b.WriteByte('\\')
			}
			b.WriteByte(next)
			continue
		case pattern && c == '[' && !bracket:
			if i := closing(p.text[p.at:]); i > 0 {
				b.WriteString(p.text[p.at : p.at+i])
				p.at += i - 1
				continue
			}
		case c == end:
			p.at++
			return b.String(), nil
		}
		b.WriteByte(c)
	}
	return "", errors.New("unterminated")
}

// closing returns the length of the bracket expression at the start of text; 0 if there is none.
func closing(text string) int {
	i := 1
	if i < len(text) && text[i] == '^' {
		i++
	}
	if i < len(text) && text[i] == ']' {
		i++
	}
	for ; i < len(text) && text[i] != '\n'; i++ {
		if strings.HasPrefix(text[i:], "[:") {
			if end := strings.Index(text[i:], ":]"); end > 0 {
				i += end + 1
				continue
			}
		}
		if text[i] == ']' {
			return i + 1
		}
	}
	return 0
}

func (p *parser) substitution(c *command) error {
	end := p.peek()
	p.at++
	pattern, err := p.delimited(end, true)
	if err != nil {
		return errors.New("unterminated `s' command")
	}
	to, err := p.delimited(end, false)
	if err != nil {
		return errors.New("unterminated `s' command")
	}
	s := &substitution{number: 1, replacement: pieces(to), empty: pattern == ""}
	o := regex.Options{Extended: p.extended}
	for {
		switch f := p.peek(); {
		case f == 'g':
			s.global = true
		case f == 'p':
			s.print = true
		case f == 'i' || f == 'I':
			o.IgnoreCase = true
		case f == 'm' || f == 'M':
			o.Multiline = true
		case f >= '1' && f <= '9':
			s.number = p.number()
			continue
		case f == 'e':
			return Unsupported("the flag e of s")
		case f == 'w':
			p.at++
			p.skip(" \t")
			s.file = p.line()
			return p.compiled(c, s, pattern, o)
		default:
			if err := p.compiled(c, s, pattern, o); err != nil {
				return err
			}
			if err := p.expectEnd(); err != nil {
				return errors.New("unknown option to `s'")
			}
			return nil
		}
		p.at++
	}
}

func (p *parser) compiled(c *command, s *substitution, pattern string, o regex.Options) (err error) {
	c.sub = s
	if !s.empty {
		s.re, err = compile(pattern, o)
	}
	if err == nil && s.re != nil {
		for _, piece := range s.replacement {
			if piece.group > s.re.Groups() {
				return fmt.Errorf("invalid reference \\%d on `s' command's RHS", piece.group)
			}
		}
	}
	return err
}

// pieces splits a replacement into its parts.
func pieces(text string) []piece {
	var out []piece
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, piece{text: b.String(), group: -1})
			b.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '&':
			flush()
			out = append(out, piece{})
		case c == '\\' && i+1 < len(text):
			i++
			switch n := text[i]; {
			case n >= '0' && n <= '9':
				flush()
				out = append(out, piece{group: int(n - '0')})
			case strings.IndexByte("ULEul", n) >= 0:
				flush()
				out = append(out, piece{group: -1, fold: n})
			case n == 'n':
				b.WriteByte('\n')
			case n == 't':
				b.WriteByte('\t')
			case n == 'r':
				b.WriteByte('\r')
			default:
				b.WriteByte(n)
			}
		default:
			b.WriteByte(c)
		}
	}
	flush()
	return out
}

func (p *parser) transliteration(c *command) error {
	end := p.peek()
	p.at++
	from, err := p.delimited(end, false)
	if err != nil {
		return errors.New("unterminated `y' command")
	}
	to, err := p.delimited(end, false)
	if err != nil {
		return errors.New("unterminated `y' command")
	}
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)
	f, t := []rune(plain.Replace(from)), []rune(plain.Replace(to))
	if len(f) != len(t) {
		return errors.New("strings for `y' command are different lengths")
	}
	c.pairs = map[rune]rune{}
	for i, r := range f {
		if _, ok := c.pairs[r]; !ok {
			c.pairs[r] = t[i]
		}
	}
	return p.expectEnd()
}

// addedText reads the text of a, i and c: after a backslash and a newline, or on the same line.
func (p *parser) addedText(c *command) error {
	p.skip(" \t")
	if p.peek() == '\\' {
		p.at++
		if rest := strings.TrimLeft(p.text[p.at:], " \t"); strings.HasPrefix(rest, "\n") {
			p.at = len(p.text) - len(rest) + 1
		}
		if p.at == len(p.text) { // "$a\" ends the last line
			return nil
		}
	}
	if p.at >= len(p.text) {
		return errors.New("expected \\ after `a', `c' or `i'")
	}
	var b strings.Builder
	for p.at < len(p.text) {
		ch := p.text[p.at]
		p.at++
		if ch == '\n' {
			break
		}
		if ch == '\\' && p.at < len(p.text) {
			ch = p.text[p.at]
			p.at++
			switch ch {
			case 'n':
				ch = '\n'
			case 't':
				ch = '\t'
			}
		}
		b.WriteByte(ch)
	}
	c.text = b.String() + "\n"
	return nil
}
