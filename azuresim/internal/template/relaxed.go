package template

import "bytes"

// Relaxed converts the extensions of JSON that the deployment service accepts into plain
// JSON: comments, keys without quotes, strings in single quotes or over several lines, and
// commas before a closing bracket. az sends such bodies. Text that is not valid in either
// form stays invalid.
func Relaxed(in []byte) []byte {
	r := &relaxer{in: in}
	for r.at < len(r.in) {
		r.step()
	}
	return r.out.Bytes()
}

type relaxer struct {
	in  []byte
	at  int
	out bytes.Buffer
}

func (r *relaxer) step() {
	c := r.in[r.at]
	switch {
	case c == '"' || c == '\'':
		r.text(c)
	case c == '/' && r.at+1 < len(r.in) && (r.in[r.at+1] == '/' || r.in[r.at+1] == '*'):
		r.comment()
	case letter(c) || c == '$':
		r.bare()
	case c == '}' || c == ']':
		r.dropComma()
		r.out.WriteByte(c)
		r.at++
	default:
		r.out.WriteByte(c)
		r.at++
	}
}

// text copies a string and escapes line ends in it.
func (r *relaxer) text(quote byte) {
	r.out.WriteByte('"')
	for r.at++; r.at < len(r.in) && r.in[r.at] != quote; r.at++ {
		switch c := r.in[r.at]; {
		case c == '\\' && r.at+1 < len(r.in):
			if r.in[r.at+1] != '\'' {
				r.out.WriteByte(c)
			}
			r.at++
			r.out.WriteByte(r.in[r.at])
		case c == '\n':
			r.out.WriteString(`\n`)
		case c == '\r':
			r.out.WriteString(`\r`)
		case c == '\t':
			r.out.WriteString(`\t`)
		case c == '"':
			r.out.WriteString(`\"`)
		default:
			r.out.WriteByte(c)
		}
	}
	if r.at < len(r.in) {
		r.out.WriteByte('"')
		r.at++
	}
}

func (r *relaxer) comment() {
	end := []byte("\n")
	if r.in[r.at+1] == '*' {
		end = []byte("*/")
	}
	i := bytes.Index(r.in[r.at+2:], end)
	if i < 0 {
		r.at = len(r.in)
		return
	}
	r.at += 2 + i + len(end)
	r.out.WriteByte(' ')
}

// bare copies a word without quotes; a word before a colon is a key and gets quotes.
func (r *relaxer) bare() {
	from := r.at
	for r.at < len(r.in) && (letter(r.in[r.at]) || r.in[r.at] == '$' || r.in[r.at] >= '0' && r.in[r.at] <= '9') {
		r.at++
	}
	word := r.in[from:r.at]
	if rest := bytes.TrimLeft(r.in[r.at:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
		r.out.WriteByte('"')
		r.out.Write(word)
		r.out.WriteByte('"')
		return
	}
	r.out.Write(word)
}

// dropComma removes a trailing comma from the output.
func (r *relaxer) dropComma() {
	if t := bytes.TrimRight(r.out.Bytes(), " \t\r\n"); len(t) > 0 && t[len(t)-1] == ',' {
		r.out.Truncate(len(t) - 1)
	}
}
