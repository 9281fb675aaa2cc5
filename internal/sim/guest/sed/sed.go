// Package sed runs the stream editor's scripts as GNU sed does, over the lines that the caller passes. It opens no
// files itself. It refuses by name (Unsupported) every feature that it does not implement. The guests import it.
package sed

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/regex"
)

// Bounds of one run.
const (
	maxSteps = 2_000_000
	// maxSpace bounds the pattern and the hold space, in bytes, because a regular expression search cannot be
	// interrupted.
	maxSpace = 4 << 20
	// matchSize is the memory of a match, in bytes: a search returns all its matches together.
	matchSize = 64
	// stepText is the number of bytes of a text that count as one step.
	stepText = 4 << 10
)

// space is the pattern space or the hold space.
type space struct {
	text  string
	added []byte // the text with what was added; nil if nothing was
}

func (s *space) set(text string) { s.text, s.added = text, nil }

func (s *space) len() int { return max(len(s.text), len(s.added)) }

func (s *space) add(text string) {
	if s.added == nil {
		s.added = append(make([]byte, 0, 2*len(s.text)+len(text)), s.text...)
	}
	s.added = append(s.added, text...)
}

// String returns the text.
func (s *space) String() string {
	if s.added != nil {
		s.set(string(s.added))
	}
	return s.text
}

// Files gives access to the files that the commands r and w name.
type Files interface {
	// ReadFile returns a file's content.
	ReadFile(name string) ([]byte, error)
	// AppendFile appends to a file, which the first write of a run empties.
	AppendFile(name, text string) error
}

type run struct {
	*Program
	input    Lines
	ahead    string // the line after the line in the pattern space
	isAhead  bool
	at       int // the number of the line in the pattern space, from 1
	space    space
	hold     space
	meter    *limit.Meter
	newline  bool // the line in the pattern space ends with a newline
	unended  bool // the line that was written last has no newline
	quiet    bool
	out      io.Writer
	files    Files
	appended []string
	last     *regex.Pattern
	replaced bool
	steps    int
}

var (
	errDelete = errors.New("the cycle ends without printing")
	errAgain  = errors.New("the cycle starts again without reading")
	errQuit   = errors.New("quit")
	errSilent = errors.New("quit without printing")
)

// Lines returns the next line of the input with its newline, which the last line may lack; ok is false at the end.
type Lines func() (text string, ok bool)

// LinesOf returns the lines of a text that end with a given byte.
func LinesOf(text string, end byte) Lines {
	return func() (line string, ok bool) {
		if i := strings.IndexByte(text, end) + 1; i > 0 {
			line, text = text[:i], text[i:]
			return line, true
		}
		line, text = text, ""
		return line, line != ""
	}
}

// Run edits lines and returns sed's exit code. It reads each line only when it needs it. quiet is the option -n.
func (p *Program) Run(meter *limit.Meter, input Lines, quiet bool, out io.Writer, files Files) (int, error) {
	for _, c := range p.commands {
		c.active, c.closed = false, false
	}
	r := &run{Program: p, meter: meter, input: input, quiet: quiet, out: out, files: files}
	for again := false; again || r.next(); {
		code, err := r.cycle()
		again = errors.Is(err, errAgain)
		switch {
		case errors.Is(err, errQuit):
			r.finish()
			return code, nil
		case errors.Is(err, errSilent):
			return code, nil
		case errors.Is(err, errDelete), again:
			r.flush()
		case err != nil:
			return 1, err
		default:
			r.finish()
		}
	}
	return 0, nil
}

// next reads a line into the pattern space; it returns false at the end of the input.
func (r *run) next() bool {
	if !r.more() {
		return false
	}
	r.space.set(r.line())
	r.replaced = false
	return true
}

// more reports whether there is another line.
func (r *run) more() bool {
	if !r.isAhead {
		r.ahead, r.isAhead = r.input()
	}
	return r.isAhead
}

// line returns the next line; more must have returned true.
func (r *run) line() (text string) {
	r.meter.Step()
	text, r.newline = strings.CutSuffix(r.ahead, r.End)
	r.isAhead = false
	r.at++
	return text
}

func (r *run) finish() {
	if !r.quiet {
		r.print(r.text())
	}
	r.flush()
}

// print writes a text as a line of the output.
func (r *run) print(text string) {
	if r.newline || r.more() {
		text += r.End
	}
	r.write(text)
	r.unended = !strings.HasSuffix(text, r.End)
}

func (r *run) flush() {
	for _, text := range r.appended {
		r.write(text)
	}
	r.appended = nil
}

// write writes a text, after the newline that the line before may lack.
func (r *run) write(text string) {
	if r.unended {
		text, r.unended = r.End+text, false
	}
	_, _ = io.WriteString(r.out, text) // an error means that nothing reads the output
}

// text returns the pattern space for a search or an edit, and counts a step for each part of it.
func (r *run) text() string {
	if n := r.space.len() / stepText; n > 0 {
		r.steps += n
		r.meter.Look()
	}
	return r.space.String()
}

// cycle runs the script on the pattern space. The error is one of errQuit and the similar values, or ends the
// program; the code is then the exit code.
func (r *run) cycle() (int, error) {
	for i := 0; i < len(r.commands); i++ {
		if r.steps++; r.steps > maxSteps {
			return 1, errors.New("the script takes too many steps (a bound of the simulation)")
		}
		if r.space.len()+r.hold.len() > maxSpace {
			return 1, fmt.Errorf("the text in its spaces grows to more than %d MiB (a bound of the simulation)", maxSpace>>20)
		}
		r.meter.Step()
		c := r.commands[i]
		ok, err := r.selected(c)
		if err != nil {
			return 1, err
		}
		if !ok {
			if c.name == '{' {
				i = c.end - 1
			}
			continue
		}
		to, err := r.execute(c)
		if err != nil {
			return c.code, err
		}
		if to >= 0 {
			i = to - 1
		}
	}
	return 0, nil
}

// selected reports whether a command's addresses select the current line.
func (r *run) selected(c *command) (bool, error) {
	ok, err := r.inRange(c)
	return ok != c.not, err
}

func (r *run) inRange(c *command) (bool, error) {
	switch {
	case c.from == nil:
		return true, nil
	case c.to == nil:
		return r.matches(c.from)
	case c.active:
		ok, err := r.goesOn(c)
		c.closed = !c.active
		return ok, err
	}
	numbered := c.from.re == nil && !c.from.last && !c.from.empty && c.from.step == 0
	if numbered && c.from.line == 0 { // 0,/re/
		c.active = r.at == 1
		if c.active {
			return r.goesOn(c)
		}
		return false, nil
	}
	ok, err := r.matches(c.from)
	if numbered { // also if another command consumed that line
		ok = r.at >= c.from.line && !c.closed
	}
	if !ok || err != nil {
		return false, err
	}
	c.active = true
	defer func() { c.closed = !c.active }()
	switch {
	case c.to.step == -1:
		c.until = r.at + c.to.line
		c.active = c.until > r.at
	case c.to.step == -2:
		c.until = (r.at/c.to.line + 1) * c.to.line
		c.active = c.until > r.at
	case c.to.last:
		c.active = r.more()
	case c.to.re == nil && !c.to.empty:
		c.until = c.to.line
		if c.to.step > 0 {
			c.until = r.at
		}
		c.active = c.until > r.at
	}
	return true, nil
}

// goesOn reports whether a range that has begun includes the current line, and ends the range at its last line.
func (r *run) goesOn(c *command) (bool, error) {
	if c.to.re != nil || c.to.empty {
		end, err := r.matches(c.to)
		c.active = !end
		return true, err
	}
	if c.to.last {
		c.active = r.more()
		return true, nil
	}
	c.active = r.at < c.until
	return r.at <= c.until, nil
}

func (r *run) matches(a *address) (bool, error) {
	switch {
	case a.last:
		return !r.more(), nil
	case a.empty && r.last == nil:
		return false, errors.New("no previous regular expression")
	case a.empty:
		return r.last.Match(r.meter, r.text()), nil
	case a.re != nil:
		r.last = a.re
		return a.re.Match(r.meter, r.text()), nil
	case a.step > 0:
		return r.at >= a.line && (r.at-a.line)%a.step == 0, nil
	}
	return r.at == a.line, nil
}

// execute runs one command. It returns the index of the command to continue with, or -1 for the next.
func (r *run) execute(c *command) (int, error) {
	switch c.name {
	case 's':
		return -1, r.substitute(c.sub)
	case 'd':
		return -1, errDelete
	case 'p':
		r.print(r.text())
	case 'q':
		return -1, errQuit
	case 'Q':
		return -1, errSilent
	case 'l':
		r.write(escapeLine(r.text()))
	case 'z':
		r.space.set("")
	case '=':
		r.write(strconv.Itoa(r.at) + "\n")
	case 'a':
		r.appended = append(r.appended, c.text)
	case 'i':
		r.write(r.ended(c.text))
	case 'c':
		if c.to == nil || !c.active || c.not {
			r.write(r.ended(c.text))
		}
		return -1, errDelete
	case 'y':
		r.space.set(strings.Map(func(l rune) rune {
			if to, ok := c.pairs[l]; ok {
				return to
			}
			return l
		}, r.text()))
	case 'r':
		if data, err := r.files.ReadFile(c.text); err == nil { // a missing file counts as empty
			r.appended = append(r.appended, string(data))
		}
	case 'w':
		return -1, r.files.AppendFile(c.text, r.text()+r.End)
	case 'b', 't', 'T':
		return r.jump(c), nil
	default:
		return -1, r.move(c.name)
	}
	return -1, nil
}

// ended returns a text of i or c, which ends with the line separator; a text of a does not.
func (r *run) ended(text string) string { return strings.TrimSuffix(text, "\n") + r.End }

// escapeLine returns a text as the command l prints it: in lines of 69 characters, with unprintable characters as
// escapes.
func escapeLine(text string) string {
	var b strings.Builder
	width := 0
	for _, c := range text {
		part := string(c)
		if i := strings.IndexRune("\\\a\b\f\n\r\t\v", c); i >= 0 {
			part = `\` + `\abfnrtv`[i:i+1]
		} else if c < ' ' || c > '~' {
			part = ""
			for _, octet := range []byte(string(c)) {
				part += fmt.Sprintf(`\%03o`, octet)
			}
		}
		if width += len(part); width > 69 {
			b.WriteString("\\\n")
			width = len(part)
		}
		b.WriteString(part)
	}
	return b.String() + "$\n"
}

func (r *run) jump(c *command) int {
	taken := c.name == 'b' || r.replaced == (c.name == 't')
	if c.name != 'b' {
		r.replaced = false
	}
	switch {
	case !taken:
		return -1
	case c.text == "":
		return len(r.commands)
	}
	return r.labels[c.text]
}

// move runs the commands that move text between the spaces and the input.
func (r *run) move(name byte) error {
	switch name {
	case 'h':
		r.hold.set(r.text())
	case 'H':
		r.hold.add(r.End + r.text())
	case 'g':
		r.space.set(r.hold.String())
	case 'G':
		r.space.add(r.End + r.hold.String())
	case 'x':
		r.space, r.hold = r.hold, r.space
	case 'n':
		if !r.more() {
			return errQuit
		}
		if !r.quiet {
			r.print(r.text())
		}
		r.flush()
		replaced := r.replaced
		r.next()
		r.replaced = replaced
	case 'N':
		if !r.more() {
			return errQuit
		}
		r.flush()
		r.space.add(r.End + r.line())
	case 'P':
		if first, _, more := strings.Cut(r.text(), r.End); more {
			r.write(first + r.End)
		} else {
			r.print(first)
		}
	case 'D':
		_, rest, more := strings.Cut(r.text(), r.End)
		if !more {
			return errDelete
		}
		r.space.set(rest)
		return errAgain
	}
	return nil
}

func (r *run) substitute(s *substitution) error {
	re := s.re
	if s.empty {
		re = r.last
	}
	if re == nil {
		return errors.New("no previous regular expression")
	}
	r.last = re
	var b strings.Builder
	text, most := r.text(), -1
	if !s.global {
		most = max(s.number, 1)
	}
	from, done := 0, false
	r.meter.During(matchSize*(1+len(text)), func() {
		for i, m := range re.All(r.meter, text, most) {
			if i+1 < s.number {
				continue
			}
			if b.Len() > maxSpace {
				break
			}
			b.WriteString(text[from:m[0]])
			expand(&b, text, m, s.replacement)
			from, done = m[1], true
		}
	})
	if !done {
		return nil
	}
	b.WriteString(text[from:])
	r.space.set(b.String())
	r.replaced = true
	if s.print {
		r.print(r.text())
	}
	if s.file != "" {
		return r.files.AppendFile(s.file, r.text()+r.End)
	}
	return nil
}

// expand writes a replacement, with GNU's changes of case.
func expand(b *strings.Builder, text string, m []int, replacement []piece) {
	var fold, once byte
	for _, p := range replacement {
		switch p.fold {
		case 'U', 'L', 'E':
			fold, once = p.fold, 0
			continue
		case 'u', 'l':
			once = p.fold
			continue
		}
		part := p.text
		if p.group >= 0 {
			part = ""
			if i := 2 * p.group; i < len(m) && m[i] >= 0 {
				part = text[m[i]:m[i+1]]
			}
		}
		switch fold {
		case 'U':
			part = strings.ToUpper(part)
		case 'L':
			part = strings.ToLower(part)
		}
		if once != 0 && part != "" {
			letters := []rune(part)
			if once == 'u' {
				letters[0] = unicode.ToUpper(letters[0])
			} else {
				letters[0] = unicode.ToLower(letters[0])
			}
			part, once = string(letters), 0
		}
		b.WriteString(part)
	}
}
