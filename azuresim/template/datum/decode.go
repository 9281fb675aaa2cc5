package datum

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"casement.dev/casement/internal/dotnet"
)

// maxNesting is the largest depth of nested arrays and objects.
const maxNesting = 128

// Decode reads JSON as the deployment service does: objects keep their order, integers are
// exact, and comments, keys without quotes, texts in single quotes or over several lines, commas
// before a closing bracket, and numbers in octal and hexadecimal are accepted. az sends such
// bodies. (Seen in recorded answers of Azure, whose reader is Json.NET.)
func Decode(data []byte) (v any, err error) {
	defer func() {
		thrown := recover()
		if err, _ = thrown.(syntaxError); thrown != nil && err == nil {
			panic(thrown)
		}
	}()
	d := &decoder{in: strings.TrimPrefix(string(data), "\ufeff")}
	v = d.value(0)
	if d.peek() != 0 || d.at < len(d.in) {
		d.fail("more after the end of the value")
	}
	return v, nil
}

// DecodeObject is Decode for a text that must be an object.
func DecodeObject(data []byte) (*Object, error) {
	v, err := Decode(data)
	o, is := v.(*Object)
	if err == nil && !is {
		err = errors.New("it is no JSON object")
	}
	return o, err
}

type decoder struct {
	in string
	at int
}

// syntaxError is the panic value for a text that is not JSON. Decode recovers it; other panics are
// bugs and continue.
type syntaxError error

func (d *decoder) fail(format string, args ...any) {
	line := 1 + strings.Count(d.in[:min(d.at, len(d.in))], "\n")
	panic(syntaxError(fmt.Errorf("line %d of the JSON: %s", line, fmt.Sprintf(format, args...))))
}

// blank skips white space and comments.
func (d *decoder) blank() {
	for d.at < len(d.in) {
		rest := d.in[d.at:]
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case strings.HasPrefix(rest, "//"):
			line, _, _ := strings.Cut(rest, "\n")
			n = len(line)
		case strings.HasPrefix(rest, "/*"):
			comment, _, ended := strings.Cut(rest[2:], "*/")
			if n = len(comment) + 4; !ended {
				d.fail("a comment has no end")
			}
		case !unicode.IsSpace(r):
			return
		}
		d.at += n
	}
}

// peek returns the next byte after blanks, or 0 at the end.
func (d *decoder) peek() byte {
	if d.blank(); d.at < len(d.in) {
		return d.in[d.at]
	}
	return 0
}

func (d *decoder) value(depth int) any {
	if depth > maxNesting {
		d.fail("values lie in each other more than %d deep", maxNesting)
	}
	switch c := d.peek(); c {
	case '{':
		out := &Object{}
		d.list('}', func() {
			key := d.key()
			if d.peek() != ':' {
				d.fail("a colon was expected after the key %q", key)
			}
			d.at++
			out.Set(key, d.value(depth+1))
		})
		return out
	case '[':
		out := []any{}
		d.list(']', func() {
			if d.in[d.at] == ',' { // a missing element is null
				out = append(out, nil)
				return
			}
			out = append(out, d.value(depth+1))
		})
		return out
	case '"', '\'':
		return d.text(c)
	case 0:
		d.fail("a value was expected at the end")
	}
	word := d.upTo(func(r rune) bool { return strings.ContainsRune(" \t\r\n,:{}[]\"'/", r) })
	v, ok := number(word)
	if !ok {
		d.fail("%.20q is no value", word)
	}
	return v
}

// upTo reads up to the first rune for which ends is true.
func (d *decoder) upTo(ends func(rune) bool) string {
	rest := d.in[d.at:]
	if n := strings.IndexFunc(rest, ends); n >= 0 {
		rest = rest[:n]
	}
	d.at += len(rest)
	return rest
}

// list reads elements, separated by commas, up to the closing bracket end; a comma may follow the
// last element.
func (d *decoder) list(end byte, element func()) {
	for d.at++; ; d.at++ {
		c := d.peek()
		if c != end && c != 0 {
			element()
			c = d.peek()
		}
		if c == end {
			d.at++
			return
		}
		if c != ',' {
			d.fail("a comma or %c was expected before %.20q", end, d.in[d.at:])
		}
	}
}

// words maps the values that are written as words.
var words = map[string]any{"null": nil, "undefined": nil, "true": true, "false": false, "NaN": math.NaN(), "Infinity": math.Inf(1),
	"-Infinity": math.Inf(-1)}

// digits matches the beginning of a number.
var digits = regexp.MustCompile(`^-?(?:[0-9]|\.)`)

// number returns the value of a word or number.
func number(word string) (any, bool) {
	if v, is := words[word]; is || !digits.MatchString(word) || len(word) > 400 {
		return v, is
	}
	switch {
	case word[0] == '0' && len(word) > 1 && strings.IndexByte(".eE", word[1]) < 0:
		base, text := 8, word[1:]
		if word[1]|0x20 == 'x' {
			base, text = 16, word[2:]
		}
		n, err := strconv.ParseInt(text, base, 64)
		return n, err == nil
	case strings.Trim(word[1:], "0123456789") == "" && word != ".":
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return n, true
		}
		if n, ok := new(big.Int).SetString(word, 10); ok {
			return n, true
		}
	}
	f, err := strconv.ParseFloat(word, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func (d *decoder) key() string {
	if c := d.in[d.at]; c == '"' || c == '\'' {
		return d.text(c)
	}
	key := d.upTo(func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' })
	if key == "" {
		d.fail("a key was expected before %.20q", d.in[d.at:])
	}
	return key
}

// text reads a quoted text, which may have several lines.
func (d *decoder) text(quote byte) string {
	var out []uint16
	for d.at++; ; {
		r, n := utf8.DecodeRuneInString(d.in[d.at:])
		switch d.at += n; {
		case n == 0:
			d.fail("a text has no end")
		case r == rune(quote):
			return dotnet.FromUnits(out)
		case r == '\\':
			out = append(out, d.escaped())
		default:
			out = utf16.AppendRune(out, r)
		}
	}
}

// escaped reads the characters after a backslash.
func (d *decoder) escaped() uint16 {
	rest := d.in[d.at:]
	if i := strings.IndexByte(`"'\/bfnrt`, (rest + " ")[0]); i >= 0 {
		d.at++
		return uint16("\"'\\/\b\f\n\r\t"[i])
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(rest[:min(5, len(rest))], "u"), 16, 16)
	if len(rest) < 5 || rest[0] != 'u' || err != nil {
		d.fail("an escape in a text is not valid")
	}
	d.at += 5
	return uint16(n)
}
