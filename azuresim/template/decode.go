package template

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting bounds how deep arrays and objects lie in each other.
const maxNesting = 128

// Decode reads JSON as the deployment service does: objects keep their order, integers are
// exact, and comments, keys without quotes, texts in single quotes or over several lines, commas
// before a closing bracket, and numbers in octal and hexadecimal are accepted. az sends such
// bodies. (Seen in recorded answers of Azure, whose reader is Json.NET.)
func Decode(data []byte) (v any, err error) {
	defer catch(&err)
	d := &decoder{in: strings.TrimPrefix(string(data), "\ufeff")}
	v = d.value(0)
	if d.blank(); d.at < len(d.in) {
		d.fail("more after the end of the value")
	}
	return v, nil
}

// DecodeObject is Decode for what has to be an object.
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

func (d *decoder) fail(format string, args ...any) {
	defer within("line %d of the JSON", 1+strings.Count(d.in[:min(d.at, len(d.in))], "\n"))
	fail(format, args...)
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

// peek returns the next byte, 0 at the end.
func (d *decoder) peek() byte {
	if d.at < len(d.in) {
		return d.in[d.at]
	}
	return 0
}

func (d *decoder) value(depth int) any {
	if depth > maxNesting {
		d.fail("values lie in each other more than %d deep", maxNesting)
	}
	d.blank()
	switch c := d.peek(); c {
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case '"', '\'':
		return d.text(c)
	case 0:
		d.fail("a value was expected at the end")
	}
	n := strings.IndexAny(d.in[d.at:], " \t\r\n,:{}[]\"'/")
	word := d.in[d.at:]
	if n >= 0 {
		word = word[:n]
	}
	v, ok := number(word)
	if !ok {
		d.fail("%q is no value", cut(d.in[d.at:], 20))
	}
	d.at += len(word)
	return v
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// number returns the value of a word or number.
func number(word string) (any, bool) {
	switch word {
	case "null", "undefined":
		return nil, true
	case "true", "false":
		return word == "true", true
	case "NaN":
		return math.NaN(), true
	case "Infinity", "-Infinity":
		return math.Inf(cond(word[0] == '-', -1, 1)), true
	}
	digits := strings.TrimPrefix(word, "-")
	switch {
	case digits == "" || !digit(digits[0]) && digits[0] != '.' || len(word) > 400:
		return nil, false
	case word[0] == '0' && len(word) > 1 && strings.IndexByte(".eE", word[1]) < 0:
		base, text := 8, word[1:]
		if word[1]|0x20 == 'x' {
			base, text = 16, word[2:]
		}
		n, err := strconv.ParseInt(text, base, 64)
		return n, err == nil
	case strings.Trim(digits, "0123456789") == "":
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return n, true
		}
		return new(big.Int).SetString(word, 10)
	}
	f, err := strconv.ParseFloat(word, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func (d *decoder) array(depth int) any {
	out := []any{}
	for d.at++; ; {
		d.blank()
		switch d.peek() {
		case ']':
			d.at++
			return out
		case ',': // an element that is not there is null
			d.at++
			out = append(out, nil)
			continue
		}
		out = append(out, d.value(depth+1))
		if d.ends(']') {
			return out
		}
	}
}

// ends passes a comma, or the end of an array or object, which it reports.
func (d *decoder) ends(end byte) bool {
	d.blank()
	c := d.peek()
	if c != ',' && c != end {
		d.fail("a comma or %c was expected before %q", end, cut(d.in[d.at:], 20))
	}
	d.at++
	return c == end
}

func (d *decoder) object(depth int) any {
	out := &Object{}
	for d.at++; ; {
		if d.blank(); d.peek() == '}' {
			d.at++
			return out
		}
		key := d.key()
		if d.blank(); d.peek() != ':' {
			d.fail("a colon was expected after the key %q", key)
		}
		d.at++
		out.Set(key, d.value(depth+1))
		if d.ends('}') {
			return out
		}
	}
}

func (d *decoder) key() string {
	if c := d.peek(); c == '"' || c == '\'' {
		return d.text(c)
	}
	rest := d.in[d.at:]
	n := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' })
	if n <= 0 {
		d.fail("a key was expected before %q", cut(rest, 20))
	}
	d.at += n
	return rest[:n]
}

// text reads a text in quotes. It may go over several lines.
func (d *decoder) text(quote byte) string {
	var out strings.Builder
	var high rune // a surrogate that waits for its second half
	for d.at++; ; {
		end := strings.IndexAny(d.in[d.at:], string(quote)+`\`)
		if end < 0 {
			d.fail("a text has no end")
		}
		if high != 0 && (end > 0 || !strings.HasPrefix(d.in[d.at:], `\u`)) {
			out.WriteRune(utf8.RuneError)
			high = 0
		}
		out.WriteString(d.in[d.at : d.at+end])
		d.at += end + 1
		if d.in[d.at-1] == quote {
			return strings.ToValidUTF8(out.String(), "\ufffd")
		}
		r := d.escaped()
		if full := utf16.DecodeRune(high, r); high != 0 && full != utf8.RuneError {
			r, high = full, 0
		} else if high != 0 {
			out.WriteRune(utf8.RuneError)
		}
		if high = 0; r >= 0xd800 && r < 0xdc00 {
			high = r
		} else {
			out.WriteRune(r)
		}
	}
}

// escaped reads what follows a backslash.
func (d *decoder) escaped() rune {
	c := d.peek()
	d.at++
	if i := strings.IndexByte(`"'\/bfnrt`, c); c != 0 && i >= 0 {
		return rune("\"'\\/\b\f\n\r\t"[i])
	}
	if c == 'u' && d.at+4 <= len(d.in) {
		if n, err := strconv.ParseUint(d.in[d.at:d.at+4], 16, 16); err == nil {
			d.at += 4
			return rune(n)
		}
	}
	d.fail("an escape in a text is not valid")
	return 0
}
