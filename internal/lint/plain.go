package lint

import (
	"slices"
	"strings"
)

// plain parses the subset of YAML that most manifests use: mappings and lists in blocks, or on one line in braces and
// brackets; scalars on one line, with or without quotes; literal texts; comments. It gives up on everything else, such
// as anchors, tags, tabs, text over several lines and every error, and the YAML parser, which takes ten times as long,
// is used instead. Its result is the same as the parser's, with the same positions, tags and styles: FuzzPlain compares
// the two.
//
// Each method that reads returns false to give up.
type plain struct {
	tree
	// start, at and end are offsets: of the current line, of the next character to read in it, and of its end.
	start, at, end int
	// indent is the column of the first character of the next line, from zero.
	indent int
	depth  int
}

// maxPlain is the maximum nesting depth of mappings and lists.
const maxPlain = 100

// maxKey is the maximum length of a key; the YAML parser accepts no more than 1024 characters.
const maxKey = 1000

// read parses a document; it returns false if the document is not in the subset.
func (p *plain) read(text string) bool {
	*p = plain{tree: tree{text: text, nodes: p.nodes[:0]}, end: -1}
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' {
			return false
		}
	}
	return p.next() && p.mapping() && p.over()
}

// copy returns the parsed tree; parsing the next document does not overwrite the copy.
func (p *plain) copy() *tree { return &tree{text: p.text, nodes: exactly(p.nodes)} }

// over reports whether the text has no more lines.
func (p *plain) over() bool { return p.start >= len(p.text) }

// next moves to the next line that has content other than a comment. It always returns true.
func (p *plain) next() bool {
	for {
		p.start = p.end + 1
		if p.over() {
			p.indent = -1
			return true
		}
		if i := strings.IndexByte(p.text[p.start:], '\n'); i >= 0 {
			p.end = p.start + i
		} else {
			p.end = len(p.text)
		}
		for p.at = p.start; p.at < p.end && p.text[p.at] == ' '; p.at++ {
		}
		if p.at < p.end && p.text[p.at] != '#' {
			p.indent = p.at - p.start
			return true
		}
	}
}

// char returns the character at an offset of the current line, or a line feed at its end.
func (p *plain) char(at int) byte {
	if at >= p.end {
		return '\n'
	}
	return p.text[at]
}

// blank reports whether a character is a separator.
func blank(c byte) bool { return c == ' ' || c == '\n' }

// skip skips spaces.
func (p *plain) skip() {
	for p.char(p.at) == ' ' {
		p.at++
	}
}

// done reports whether the rest of the line is empty or a comment.
func (p *plain) done() bool {
	p.skip()
	c := p.char(p.at)
	return c == '\n' || c == '#' && p.text[p.at-1] == ' '
}

// open appends a mapping or list that begins at the current position.
func (p *plain) open(k kind, t tag, s style) (_ ref, ok bool) {
	p.depth++
	return p.add(node{begin: uint32(p.at), kind: k, tag: t, style: s}), p.depth <= maxPlain
}

// dash reports whether an element of a list in block style begins here.
func (p *plain) dash() bool { return p.char(p.at) == '-' && blank(p.char(p.at+1)) }

// mapping parses a mapping in block style, from its first key on.
func (p *plain) mapping() bool {
	indent := p.indent
	r, ok := p.open(mapping, tagMap, 0)
	for ok && p.indent == indent {
		if !p.key() || !p.entry(indent) {
			return false
		}
	}
	p.close(r)
	return ok && p.indent < indent
}

// close ends a mapping or list.
func (p *plain) close(r ref) {
	p.tree.end(r)
	p.depth--
}

// entry parses the value after a key of a mapping in block style, and moves to the next line.
func (p *plain) entry(indent int) bool {
	colon := p.at
	if !p.done() {
		if p.char(p.at) == '|' {
			return p.literal(indent)
		}
		return p.inline(false) && p.done() && p.next()
	}
	empty := node{begin: uint32(colon), kind: scalar, tag: tagNull}
	p.next()
	switch {
	case p.indent >= indent && p.dash():
		return p.list()
	case p.indent > indent:
		return p.mapping()
	}
	p.add(empty)
	return true
}

// list parses a list in block style, from its first dash on.
func (p *plain) list() bool {
	indent := p.indent
	r, ok := p.open(sequence, tagSequence, 0)
	for ok && p.indent == indent && p.dash() {
		p.at++
		if p.done() || !p.element() || p.indent > indent {
			return false
		}
	}
	p.close(r)
	return ok
}

// element parses an element of a list in block style that begins on the line of its dash.
func (p *plain) element() bool {
	p.indent = p.at - p.start
	switch {
	case p.dash():
		return p.list()
	case p.isKey():
		return p.mapping()
	}
	return p.inline(false) && p.done() && p.next()
}

// isKey reports whether a key of a mapping in block style is next.
func (p *plain) isKey() bool {
	before, count := p.at, len(p.nodes)
	ok := p.key()
	p.at, p.nodes = before, p.nodes[:count]
	return ok
}

// key parses a key of a mapping in block style, and its colon.
func (p *plain) key() bool {
	begin := p.at
	if !p.quotedOrWord() || p.at-begin > maxKey || p.char(p.at) != ':' || !blank(p.char(p.at+1)) {
		return false
	}
	p.at++
	return true
}

// quotedOrWord parses a scalar whose characters could not end it in any context.
func (p *plain) quotedOrWord() bool {
	if c := p.char(p.at); c == '"' || c == '\'' {
		return p.quoted(c)
	}
	begin := p.at
	for word(p.char(p.at)) || p.char(p.at) == ':' && word(p.char(p.at+1)) {
		p.at++
	}
	return p.scalar(begin, p.at)
}

// word reports whether a character has no special meaning in YAML.
func word(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '/' || c == '_' || c == '-'
}

// inline parses a value on the current line; inFlow is true if the value is in braces or brackets.
func (p *plain) inline(inFlow bool) bool {
	switch c := p.char(p.at); {
	case c == '"' || c == '\'':
		return p.quoted(c)
	case c == '{':
		return p.braces()
	case c == '[':
		return p.brackets()
	case inFlow:
		return p.quotedOrWord()
	}
	begin, last := p.at, p.at
	for ; p.at < p.end; p.at++ {
		switch c := p.text[p.at]; {
		case c == ':' && blank(p.char(p.at+1)):
			return false
		case c == '#' && p.text[p.at-1] == ' ':
			return p.scalar(begin, last)
		case c != ' ':
			last = p.at + 1
		}
	}
	return p.scalar(begin, last)
}

// quoted parses a scalar in quotes without escapes.
func (p *plain) quoted(quote byte) bool {
	s := doubleQuoted
	if quote == '\'' {
		s = singleQuoted
	}
	text := p.text[p.at+1 : p.end]
	n := strings.IndexByte(text, quote)
	if n < 0 || quote == '"' && strings.IndexByte(text[:n], '\\') >= 0 || quote == '\'' && n+1 < len(text) && text[n+1] == quote {
		return false
	}
	p.add(node{begin: uint32(p.at + 1), extent: uint32(n), kind: scalar, tag: tagString, style: s})
	p.at += n + 2
	return true
}

// scalar appends a scalar without quotes.
func (p *plain) scalar(begin, end int) bool {
	t, ok := tagOf(p.text[begin:end])
	if ok {
		p.add(node{begin: uint32(begin), extent: uint32(end - begin), kind: scalar, tag: t})
	}
	return ok
}

// braces parses a mapping in braces.
func (p *plain) braces() bool {
	return p.flow(mapping, tagMap, '}', func() bool {
		if !p.key() {
			return false
		}
		p.skip()
		return p.inline(true)
	})
}

// brackets parses a list in brackets.
func (p *plain) brackets() bool {
	return p.flow(sequence, tagSequence, ']', func() bool { return p.inline(true) })
}

// flow parses a mapping in braces or a sequence in brackets, whose entries are separated by commas.
func (p *plain) flow(k kind, t tag, closing byte, entry func() bool) bool {
	r, ok := p.open(k, t, flow)
	if !ok {
		return false
	}
	p.at++
	p.skip()
	for first := true; p.char(p.at) != closing; first = false {
		if !first {
			if p.char(p.at) != ',' {
				return false
			}
			p.at++
			p.skip()
		}
		if !entry() {
			return false
		}
		p.skip()
	}
	p.at++
	p.close(r)
	return true
}

// literal parses a text after | or |-, whose lines are indented deeper than its key, and moves to the line after it.
func (p *plain) literal(indent int) bool {
	begin := p.at
	if p.at++; p.char(p.at) == '-' {
		p.at++
	}
	if p.skip(); p.char(p.at) != '\n' {
		return false
	}
	deep := 0
	for p.end+1 < len(p.text) {
		line, rest, _ := strings.Cut(p.text[p.end+1:], "\n")
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		if deep == 0 {
			if deep = spaces; deep <= indent || deep == len(line) {
				return false
			}
		}
		if spaces < deep && spaces < len(line) {
			break
		}
		if p.end += 1 + len(line); rest == "" && p.end == len(p.text) {
			return false // there is no line feed at the end
		}
	}
	p.add(node{begin: uint32(begin), extent: uint32(p.end - begin), kind: scalar, tag: tagString, style: literal})
	return deep > 0 && p.next()
}

// unindent returns the value of a literal text, which extends from its | to the end of its last line.
func unindent(text string) string {
	head, text, _ := strings.Cut(text, "\n")
	deep := len(text) - len(strings.TrimLeft(text, " "))
	var out strings.Builder
	for line := range strings.Lines(text) {
		if len(line) > deep {
			out.WriteString(line[deep:])
		} else {
			out.WriteByte('\n')
		}
	}
	value := strings.TrimRight(out.String(), "\n")
	if strings.HasPrefix(head, "|-") {
		return value
	}
	return value + "\n"
}

// words are scalars without quotes that are not texts. The YAML parser has no others that begin with a letter.
var words = map[string]tag{
	"true": tagBool, "True": tagBool, "TRUE": tagBool, "false": tagBool, "False": tagBool, "FALSE": tagBool,
	"null": tagNull, "Null": tagNull, "NULL": tagNull,
}

// tagOf returns the tag of a scalar without quotes; ok is false if only the YAML parser can determine it.
func tagOf(text string) (_ tag, ok bool) {
	if text == "" {
		return 0, false
	}
	switch c := text[0]; {
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		if t, ok := words[text]; ok {
			return t, true
		}
		return tagString, true
	case c == '/' || c == '_' || c == '$' || c == '(' || c == '\\':
		return tagString, true
	case '0' <= c && c <= '9':
		return number(text)
	case c == '-' || c == '.': // a command's option, or the name of a hidden file
		if len(text) > 1 && (text[1] == '-' || text[1] == '/' || 'a' <= text[1] && text[1] <= 'z' && text[1] != 'i' && text[1] != 'n') {
			return tagString, true
		}
	}
	return 0, false
}

// number returns the tag of a scalar that begins with a digit.
func number(text string) (_ tag, ok bool) {
	const most = 18 // number of digits that always fit into an integer
	digits, dots, dashes, colons := 0, 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.':
			dots++
		case c == '-':
			dashes++
		case c == ':':
			colons++
		case !slices.Contains([]byte("abcdefABCDEFxXoOpP_+tTzZ "), c):
			return tagString, true
		}
	}
	switch {
	case digits == len(text) && len(text) <= most && (text[0] != '0' || len(text) == 1):
		return tagInt, true
	case dots > 1, colons > 0 && dashes == 0: // neither a number nor a date
		return tagString, true
	}
	return 0, false
}
