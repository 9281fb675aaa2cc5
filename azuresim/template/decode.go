package template

import (
	"fmt"
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
// exact, and comments, keys without quotes, texts in single quotes or over several lines, and
// commas before a closing bracket are accepted. az sends such bodies.
func Decode(data []byte) (any, error) {
	d := &decoder{in: strings.TrimPrefix(string(data), "\ufeff")}
	v, err := d.value(0)
	if err == nil {
		if err = d.blank(); err == nil && d.at < len(d.in) {
			err = d.errorf("more after the end of the value")
		}
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeObject is Decode for what has to be an object.
func DecodeObject(data []byte) (*Object, error) {
	v, err := Decode(data)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*Object)
	if !ok {
		return nil, fmt.Errorf("it is no JSON object")
	}
	return o, nil
}

type decoder struct {
	in string
	at int
}

func (d *decoder) errorf(format string, args ...any) error {
	line := 1 + strings.Count(d.in[:min(d.at, len(d.in))], "\n")
	return fmt.Errorf("line %d of the JSON: %s", line, fmt.Sprintf(format, args...))
}

// blank skips white space and comments.
func (d *decoder) blank() error {
	for d.at < len(d.in) {
		rest := d.in[d.at:]
		switch {
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			d.at += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return d.errorf("a comment has no end")
			}
			d.at += end + 4
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) {
				return nil
			}
			d.at += n
		}
	}
	return nil
}

func (d *decoder) peek() byte {
	if d.at < len(d.in) {
		return d.in[d.at]
	}
	return 0
}

func (d *decoder) value(depth int) (any, error) {
	if depth > maxNesting {
		return nil, d.errorf("values lie in each other more than %d deep", maxNesting)
	}
	if err := d.blank(); err != nil {
		return nil, err
	}
	switch c := d.peek(); {
	case c == '{':
		return d.object(depth)
	case c == '[':
		return d.array(depth)
	case c == '"' || c == '\'':
		return d.text(c)
	case c == 0:
		return nil, d.errorf("a value was expected at the end")
	}
	start := d.at
	for d.at < len(d.in) && !strings.ContainsRune(" \t\r\n,:{}[]\"'/", rune(d.in[d.at])) {
		d.at++
	}
	word := d.in[start:d.at]
	switch word {
	case "null", "undefined":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if v, ok := number(word); ok {
		return v, nil
	}
	d.at = start
	return nil, d.errorf("%q is no value", cut(d.in[start:], 20))
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

func number(word string) (any, bool) {
	digits := strings.TrimPrefix(word, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(word) > 400 {
		return nil, false
	}
	if strings.Trim(digits, "0123456789") == "" {
		if i, err := strconv.ParseInt(word, 10, 64); err == nil {
			return i, true
		}
		return new(big.Int).SetString(word, 10)
	}
	if len(digits) > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') {
		i, err := strconv.ParseInt(word, 0, 64)
		return i, err == nil
	}
	if strings.ContainsAny(digits, "xXpP_") {
		return nil, false
	}
	f, err := strconv.ParseFloat(word, 64)
	return f, err == nil
}

func (d *decoder) array(depth int) (any, error) {
	out := []any{}
	for d.at++; ; {
		if err := d.blank(); err != nil {
			return nil, err
		}
		if d.peek() == ']' {
			d.at++
			return out, nil
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if done, err := d.separator(']'); err != nil || done {
			return out, err
		}
	}
}

// separator passes a comma, or the end of an array or object, which it reports.
func (d *decoder) separator(end byte) (bool, error) {
	if err := d.blank(); err != nil {
		return false, err
	}
	switch d.peek() {
	case ',':
		d.at++
		return false, nil
	case end:
		d.at++
		return true, nil
	}
	return false, d.errorf("a comma or %c was expected before %q", end, cut(d.in[d.at:], 20))
}

func (d *decoder) object(depth int) (any, error) {
	out := &Object{}
	for d.at++; ; {
		if err := d.blank(); err != nil {
			return nil, err
		}
		if d.peek() == '}' {
			d.at++
			return out, nil
		}
		key, err := d.key()
		if err != nil {
			return nil, err
		}
		if err := d.blank(); err != nil {
			return nil, err
		}
		if d.peek() != ':' {
			return nil, d.errorf("a colon was expected after the key %q", key)
		}
		d.at++
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out.Set(key, v)
		if done, err := d.separator('}'); err != nil || done {
			return out, err
		}
	}
}

func (d *decoder) key() (string, error) {
	if c := d.peek(); c == '"' || c == '\'' {
		return d.text(c)
	}
	start := d.at
	for d.at < len(d.in) {
		r, n := utf8.DecodeRuneInString(d.in[d.at:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' {
			break
		}
		d.at += n
	}
	if start == d.at {
		return "", d.errorf("a key was expected before %q", cut(d.in[d.at:], 20))
	}
	return d.in[start:d.at], nil
}

// text reads a text in quotes. It may go over several lines.
func (d *decoder) text(quote byte) (string, error) {
	d.at++
	if end := strings.IndexAny(d.in[d.at:], string(quote)+`\`); end >= 0 && d.in[d.at+end] == quote {
		s := d.in[d.at : d.at+end]
		d.at += end + 1
		return strings.ToValidUTF8(s, "\ufffd"), nil
	}
	var out strings.Builder
	var high rune // a surrogate that waits for its second half
	for d.at < len(d.in) {
		c := d.in[d.at]
		if high != 0 && (c != '\\' || d.at+1 < len(d.in) && d.in[d.at+1] != 'u') {
			out.WriteRune(utf8.RuneError)
			high = 0
		}
		d.at++
		switch c {
		case quote:
			return strings.ToValidUTF8(out.String(), "\ufffd"), nil
		case '\\':
			r, err := d.escaped()
			if err != nil {
				return "", err
			}
			switch {
			case high != 0:
				if full := utf16.DecodeRune(high, r); full != utf8.RuneError {
					r = full
				} else {
					out.WriteRune(utf8.RuneError)
				}
				high = 0
			case r >= 0xd800 && r < 0xdc00:
				high = r
				continue
			}
			out.WriteRune(r)
		default:
			out.WriteByte(c)
		}
	}
	return "", d.errorf("a text has no end")
}

func (d *decoder) escaped() (rune, error) {
	c := d.peek()
	d.at++
	switch c {
	case '"', '\'', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		if d.at+4 <= len(d.in) {
			if n, err := strconv.ParseUint(d.in[d.at:d.at+4], 16, 16); err == nil {
				d.at += 4
				return rune(n), nil
			}
		}
	}
	return 0, d.errorf("an escape in a text is not valid")
}
