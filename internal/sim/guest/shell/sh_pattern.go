package shell

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/regex"
)

// shPattern is a compiled shell pattern. Several shells use it at the same time.
type shPattern struct {
	all    *regex.Pattern // matches the whole text
	source string
	short  string
	// The parts of a pattern with !(a|b), which is no regular expression: before it, in it and after it.
	before, not, behind *regex.Pattern
	flags               string
	// err is the reason if the pattern is refused; it then matches nothing.
	err error

	mu    sync.Mutex
	parts map[string]*regex.Pattern // for prefixes, suffixes and positions in a text
}

// maxPatterns bounds the size of the cached patterns, in bytes. A compiled pattern takes about a hundred times its
// length.
const maxPatterns = 128 << 10

// matcher returns the compiled form of a pattern, in which backslashes quote.
func (r *runner) matcher(pattern string, extended, fold bool) *shPattern {
	key := pattern
	if extended {
		key += "\x00x"
	}
	if fold {
		key += "\x00i"
	}
	r.run.mu.Lock()
	m := r.run.matchers[key]
	r.run.mu.Unlock()
	if m != nil {
		return m
	}
	if m = compilePattern(pattern, extended, fold); m.err != nil {
		panic(ended{r.exceed("has " + m.err.Error())})
	}
	r.run.mu.Lock()
	defer r.run.mu.Unlock()
	if r.run.compiled += len(key); r.run.compiled > maxPatterns || len(r.run.matchers) > 200 {
		clear(r.run.matchers)
		r.run.compiled = len(key)
	}
	r.run.matchers[key] = m
	return m
}

// Bounds of one pattern, far above those of real scripts.
const (
	maxPattern       = 64 << 10 // in bytes
	maxPatternNested = 200
)

func compilePattern(pattern string, extended, fold bool) *shPattern {
	m := &shPattern{flags: "(?s)", parts: map[string]*regex.Pattern{}}
	if fold {
		m.flags = "(?si)"
	}
	switch {
	case len(pattern) > maxPattern:
		m.err = fmt.Errorf("a pattern of more than %d KiB", maxPattern>>10)
	case extended && nestedPatterns(pattern) > maxPatternNested:
		m.err = fmt.Errorf("patterns nested more than %d deep", maxPatternNested)
	}
	if m.err != nil {
		m.all = m.compiled(noMatch, false)
		return m
	}
	if extended {
		if at := strings.Index(pattern, "!("); at >= 0 && (at == 0 || pattern[at-1] != '\\') {
			end := closing(pattern, at+2)
			if end > 0 {
				part := func(p string) *regex.Pattern { return m.compiled(m.flags+"^(?:"+expression(p, true, ".*")+")$", false) }
				m.before, m.not, m.behind = part(pattern[:at]), part("@("+pattern[at+2:end]+")"), part(pattern[end+1:])
				return m
			}
		}
	}
	m.source, m.short = expression(pattern, extended, ".*"), expression(pattern, extended, ".*?")
	m.all = m.compiled(m.flags+"^(?:"+m.source+")$", false)
	return m
}

// patterns compiles the file name patterns in a program's arguments.
func patterns(globs []string) (all []*shPattern, err error) {
	for _, glob := range globs {
		m := compilePattern(glob, false, false)
		if m.err != nil {
			return nil, m.err
		}
		all = append(all, m)
	}
	return all, nil
}

// nestedPatterns returns the maximum depth of nested ?( *( +( @( and !(.
func nestedPatterns(pattern string) (most int) {
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case pattern[i] == '(' && i > 0 && strings.IndexByte("?*+@!", pattern[i-1]) >= 0:
			depth++
			most = max(most, depth)
		case pattern[i] == ')':
			depth = max(depth-1, 0)
		}
	}
	return most
}

const noMatch = `[^\x{0}-\x{10ffff}]`

// compiled compiles an expression. If it is wrong, the result matches nothing; if it is refused, m.err is set.
func (m *shPattern) compiled(text string, longest bool) *regex.Pattern {
	re, err := regex.Single(text, longest)
	if errors.Is(err, regex.ErrUnsupported) {
		m.err = err
	}
	if err != nil {
		re, _ = regex.Single(noMatch, false)
	}
	return re
}

// part returns an expression, which is compiled at its first use.
func (m *shPattern) part(text string, longest bool) *regex.Pattern {
	m.mu.Lock()
	defer m.mu.Unlock()
	re := m.parts[text]
	if re == nil {
		re = m.compiled(m.flags+text, longest)
		m.parts[text] = re
	}
	return re
}

// maxNegated bounds the length of a text that is matched with !( ), in bytes, because the time is quadratic in it.
const maxNegated = 4096

// whole reports whether a text matches.
func (m *shPattern) whole(meter *limit.Meter, text string) bool {
	if m.not == nil {
		return m.all.Match(meter, text)
	}
	if len(text) >= maxNegated {
		meter.End(fmt.Errorf("a text of more than %d KiB is too long for !( ) (%w)", maxNegated>>10, limit.ErrExceeded))
		return false
	}
	for i := range len(text) + 1 {
		if !m.before.Match(meter, text[:i]) {
			continue
		}
		for j := i; j <= len(text); j++ {
			if m.behind.Match(meter, text[j:]) && !m.not.Match(meter, text[i:j]) {
				return true
			}
		}
	}
	return false
}

// prefix returns the length of the shortest or longest prefix that matches, or -1.
func (m *shPattern) prefix(meter *limit.Meter, text string, long bool) int {
	if m.not != nil {
		return m.byEnds(text, long, func(i int) bool { return m.whole(meter, text[:i]) })
	}
	source := m.short
	if long {
		source = m.source
	}
	if at := m.part("^(?:"+source+")", long).Find(meter, text); at != nil {
		return at[1]
	}
	return -1
}

// suffix returns the start of the shortest or longest suffix that matches, or -1.
func (m *shPattern) suffix(meter *limit.Meter, text string, long bool) int {
	if m.not != nil {
		return m.byEnds(text, !long, func(i int) bool { return m.whole(meter, text[i:]) })
	}
	before := "(.*)"
	if long {
		before = "(.*?)"
	}
	if at := m.part("^"+before+"(?:"+m.source+")$", false).Find(meter, text); at != nil {
		return at[3]
	}
	return -1
}

// byEnds returns the first index of a text for which ok is true, or with last the last index; -1 if there is none.
func (m *shPattern) byEnds(text string, last bool, ok func(i int) bool) int {
	for i := range len(text) + 1 {
		at := i
		if last {
			at = len(text) - i
		}
		if ok(at) {
			return at
		}
	}
	return -1
}

// find returns the leftmost longest match.
func (m *shPattern) find(meter *limit.Meter, text string) (from, to int) {
	if m.not != nil {
		for i := range len(text) + 1 {
			for j := len(text); j >= i; j-- {
				if m.whole(meter, text[i:j]) {
					return i, j
				}
			}
		}
		return -1, -1
	}
	if at := m.part("(?:"+m.source+")", true).Find(meter, text); at != nil {
		return at[0], at[1]
	}
	return -1, -1
}

// closing returns the index of the parenthesis that closes the one before at, or -1.
func closing(pattern string, at int) int {
	depth := 1
	for i := at; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// expression returns a pattern as a regular expression.
func expression(pattern string, extended bool, any string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if extended && i+1 < len(pattern) && pattern[i+1] == '(' && strings.IndexByte("?*+@", c) >= 0 {
			if end := closing(pattern, i+2); end > 0 {
				b.WriteString("(?:")
				for j, one := range alternatives(pattern[i+2 : end]) {
					if j > 0 {
						b.WriteByte('|')
					}
					b.WriteString(expression(one, true, any))
				}
				b.WriteByte(')')
				if c != '@' {
					b.WriteByte(c)
				}
				i = end
				continue
			}
		}
		switch c {
		case '*':
			b.WriteString(any)
		case '?':
			b.WriteByte('.')
		case '\\':
			if i++; i == len(pattern) {
				b.WriteString(`\\`)
				break
			}
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case '[':
			set, end := bracket(pattern, i)
			b.WriteString(set)
			i = end
		default:
			if c < 0x80 {
				b.WriteString(regexp.QuoteMeta(string(rune(c))))
			} else {
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

func alternatives(text string) (all []string) {
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				all = append(all, text[from:i])
				from = i + 1
			}
		}
	}
	return append(all, text[from:])
}

// bracket translates the bracket expression at an index, and returns the index after it. Without an end, the bracket
// is literal.
func bracket(pattern string, at int) (string, int) {
	i := at + 1
	var b strings.Builder
	b.WriteByte('[')
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(pattern); first = false {
		c := pattern[i]
		switch {
		case c == ']' && !first:
			b.WriteByte(']')
			return b.String(), i
		case c == '[' && i+1 < len(pattern) && pattern[i+1] == ':':
			end := strings.Index(pattern[i:], ":]")
			if end < 0 {
				return `\[`, at
			}
			b.WriteString(pattern[i : i+end+2])
			i += end + 2
			continue
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(`\` + pattern[i:i+1])
		case c == '-' && !first && i+1 < len(pattern) && pattern[i+1] != ']' && b.Len() > 1 && !strings.HasSuffix(b.String(), ":]"):
			b.WriteByte('-')
		case c < 0x80 && strings.IndexByte(`[]^-\&~|`, c) >= 0:
			b.WriteString(`\` + string(rune(c)))
		default:
			b.WriteByte(c)
		}
		i++
	}
	return `\[`, at
}

// pattern expands a word to a pattern.
func (r *runner) pattern(word *syntax.Word) string { return patternText(r.single(word, false)) }

// matches reports whether a text matches a pattern, as in case.
func (r *runner) matches(pattern, text string) bool {
	return r.matcher(pattern, !r.posix, r.options["nocasematch"]).whole(r.meter, text)
}
