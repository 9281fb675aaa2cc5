// Package regex translates the regular expressions of POSIX and GNU programs, basic and extended, to Go's; patterns
// with back references, and Perl's, are translated to those of .NET. It is pure; the guests import it.
package regex

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// ErrUnsupported is wrapped by the errors for patterns that the engines cannot match.
var ErrUnsupported = errors.New("pattern")

// ErrBackReference is returned for a pattern with a back reference to one of its groups.
var ErrBackReference = fmt.Errorf("a back reference in a %w", ErrUnsupported)

// Perl compiles a pattern of grep -P.
func Perl(pattern string, o Options) (*Pattern, error) {
	text := pattern
	if before, behind, kept := strings.Cut(pattern, `\K`); kept { // the text before \K is not a part of the match
		text = `(?<=` + before + `)` + behind
	}
	return backtracking(text, o)
}

// Any compiles a pattern as Compile does, and also accepts back references.
func Any(pattern string, o Options) (*Pattern, error) {
	re, err := Compile(pattern, o)
	if !errors.Is(err, ErrBackReference) {
		return re, err
	}
	t := translator{in: pattern, extended: o.Extended, escapes: o.Escapes, back: true}
	text, err := t.translate()
	if err != nil {
		return nil, err
	}
	return backtracking(text, o)
}

// searchTime limits one search with a backtracking pattern, which may take exponential time.
const searchTime = time.Second

// backtracking compiles a pattern with the engine of .NET.
func backtracking(text string, o Options) (*Pattern, error) {
	switch {
	case len(text) > maxPattern:
		return nil, fmt.Errorf("a %w of more than %d KiB", ErrUnsupported, maxPattern>>10)
	case o.Line:
		text = `^(?:` + text + `)$`
	case o.Word:
		text = `\b(?:` + text + `)\b`
	}
	flags := regexp2.RegexOptions(regexp2.None)
	if o.IgnoreCase {
		flags |= regexp2.IgnoreCase
	}
	if o.Multiline {
		flags |= regexp2.Multiline
	}
	re, err := regexp2.Compile(text, flags)
	if err != nil {
		return nil, fmt.Errorf("a %w that .NET does not know: %w", ErrUnsupported, err)
	}
	re.MatchTimeout = searchTime
	return &Pattern{back: re}, nil
}

// Options say how a pattern is written and matched.
type Options struct {
	// Extended selects extended expressions, as in grep -E and sed -E; the default is basic expressions.
	Extended bool
	// Escapes lets a backslash quote in a bracket expression, as in awk.
	Escapes bool
	// Fixed means that the pattern is a literal text.
	Fixed bool
	// IgnoreCase matches letters in either case.
	IgnoreCase bool
	// Begin matches only at the beginning of a text.
	Begin bool
	// Word matches only whole words, and Line only whole lines.
	Word, Line bool
	// Multiline lets ^ and $ match at each line of a text.
	Multiline bool
}

// Compile compiles a pattern that matches the longest text, as in POSIX.
func Compile(pattern string, o Options) (*Pattern, error) {
	text := regexp.QuoteMeta(pattern)
	if !o.Fixed {
		t := translator{in: pattern, extended: o.Extended, escapes: o.Escapes}
		var err error
		if text, err = t.translate(); err != nil {
			return nil, err
		}
	}
	switch {
	case o.Line:
		text = `^(?:` + text + `)$`
	case o.Begin:
		text = `^(?:` + text + `)`
	case o.Word:
		text = `(?:^|\b)(?:` + text + `)(?:\b|$)`
	}
	flags := "s"
	if o.IgnoreCase {
		flags += "i"
	}
	if o.Multiline {
		flags += "m"
	}
	re, err := compile("(?"+flags+")"+text, true)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression: %w", err)
	}
	return re, nil
}

// The limits of a pattern: far above those of real scripts, and low enough that a pattern compiles quickly.
const (
	// maxPattern bounds the length of a pattern, in bytes.
	maxPattern = 64 << 10
	// maxItems bounds the items of a pattern, with counted repetitions written out.
	maxItems = 50_000
)

type translator struct {
	in       string
	at       int
	extended bool
	escapes  bool
	back     bool // back references are translated
	out      strings.Builder
	// start is set at the beginning of an expression, where * is a literal character.
	start bool
	depth int
}

func (t *translator) translate() (string, error) {
	t.start = true
	for t.at < len(t.in) {
		if err := t.step(); err != nil {
			return "", err
		}
	}
	return t.out.String(), nil
}

// step translates one item of the pattern.
func (t *translator) step() error {
	c := t.in[t.at]
	t.at++
	start := t.start
	t.start = false
	switch {
	case c == '[':
		return t.bracket()
	case c == '\\':
		return t.escaped(start)
	case c == '*' && start:
		if t.extended {
			return nil // GNU ignores a leading *
		}
		t.out.WriteString(`\*`)
	case c == '*':
		t.repeat("*")
	case c == '^' && (t.extended || start):
		t.out.WriteByte('^')
		t.start = true
	case c == '$' && (t.extended || t.at == len(t.in) || strings.HasPrefix(t.in[t.at:], `\)`) || strings.HasPrefix(t.in[t.at:], `\|`)):
		t.out.WriteByte('$')
	case c == '.':
		t.out.WriteByte('.')
	case strings.IndexByte("+?{}()|", c) >= 0 && t.extended:
		t.operator(c, start)
	default:
		t.letter(c)
	}
	return nil
}

// letter writes a literal byte. A byte of a multi-byte character needs no quoting.
func (t *translator) letter(c byte) {
	if c < 0x80 {
		t.out.WriteString(regexp.QuoteMeta(string(rune(c))))
		return
	}
	t.out.WriteByte(c)
}

// repeat writes a repetition. Go accepts no two repetitions in a row.
func (t *translator) repeat(op string) {
	text := t.out.String()
	if op == "*" && strings.HasSuffix(text, "*") && !strings.HasSuffix(text, `\*`) {
		return
	}
	t.out.WriteString(op)
}

// operator translates one of the characters + ? { } ( ) | as an operator.
func (t *translator) operator(c byte, start bool) {
	switch c {
	case '(', '|':
		t.start = true
		if c == '(' {
			t.depth++
		}
		t.out.WriteByte(c)
	case ')':
		if t.depth == 0 {
			t.out.WriteString(`\)`)
			return
		}
		t.depth--
		t.out.WriteByte(c)
	case '{':
		end := strings.IndexByte(t.in[t.at:], '}')
		body := ""
		if end >= 0 {
			body = strings.TrimSuffix(t.in[t.at:t.at+end], `\`)
		}
		if start || end < 0 || body == "" || strings.Trim(body, "0123456789,") != "" {
			t.out.WriteString(`\{`)
			return
		}
		t.at += end + 1
		if strings.HasPrefix(body, ",") {
			body = "0" + body
		}
		t.out.WriteString("{" + body + "}")
	case '}':
		t.out.WriteString(`\}`)
	default:
		if start {
			t.out.WriteString(`\` + string(c))
			return
		}
		t.out.WriteByte(c)
	}
}

// escaped translates the character after a backslash.
func (t *translator) escaped(start bool) error {
	if t.at == len(t.in) {
		return errors.New("trailing backslash")
	}
	c := t.in[t.at]
	t.at++
	switch {
	case c >= '1' && c <= '9' && t.back:
		t.out.WriteString(`(?:\` + string(c) + `)`)
	case c >= '1' && c <= '9':
		return ErrBackReference
	case strings.IndexByte("+?{}()|", c) >= 0 && !t.extended:
		t.operator(c, start)
	case c == '<' || c == '>' || c == 'b':
		t.out.WriteString(`\b`)
	case c == 'n':
		t.out.WriteByte('\n')
	case c == 't':
		t.out.WriteByte('\t')
	case strings.IndexByte("wWsSB", c) >= 0:
		t.out.WriteString(`\` + string(c))
	case c == '`':
		t.out.WriteString(`\A`)
	case c == '\'':
		t.out.WriteString(`\z`)
	default:
		t.letter(c)
	}
	return nil
}

// bracket translates a bracket expression, in which a backslash is a literal character and ] may come first.
func (t *translator) bracket() error {
	rest := t.in[t.at:]
	i := 0
	if strings.HasPrefix(rest, "^") {
		i++
	}
	if strings.HasPrefix(rest[i:], "]") {
		i++
	}
	for i < len(rest) && rest[i] != ']' {
		if strings.HasPrefix(rest[i:], "[:") || strings.HasPrefix(rest[i:], "[.") || strings.HasPrefix(rest[i:], "[=") {
			end := strings.Index(rest[i+2:], rest[i+1:i+2]+"]")
			if end < 0 {
				break
			}
			i += end + 3
		}
		if t.escapes && rest[i] == '\\' && i+1 < len(rest) {
			i++
		}
		i++
	}
	if i >= len(rest) {
		return errors.New("unmatched [, [^, [:, [., or [=")
	}
	body := rest[:i]
	t.at += i + 1
	t.out.WriteByte('[')
	if after, ok := strings.CutPrefix(body, "^"); ok {
		t.out.WriteByte('^')
		body = after
	}
	for len(body) > 0 {
		if strings.HasPrefix(body, "[:") {
			end := strings.Index(body, ":]")
			t.out.WriteString(body[:end+2])
			body = body[end+2:]
			continue
		}
		switch c := body[0]; c {
		case '\\':
			if len(body) > 1 && (body[1] == 'n' || body[1] == 't') { // \n and \t, as in GNU sed
				t.out.WriteString(body[:2])
				body = body[1:]
			} else if t.escapes && len(body) > 1 {
				body = body[1:]
				if strings.IndexByte(`\\]^-[&~`, body[0]) >= 0 {
					t.out.WriteByte('\\')
				}
				t.out.WriteByte(body[0])
			} else {
				t.out.WriteString(`\\`)
			}
		case '[', ']', '^', '&', '~':
			t.out.WriteString(`\` + string(c))
		default:
			t.out.WriteByte(c)
		}
		body = body[1:]
	}
	t.out.WriteByte(']')
	return nil
}
