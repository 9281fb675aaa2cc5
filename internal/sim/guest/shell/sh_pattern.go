package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shPattern is a pattern of a shell.
type shPattern struct {
	all     *regexp.Regexp // the whole text
	longest *regexp.Regexp // anywhere, the longest
	source  string
	short   string
	// !(a|b) is no regular expression: what is before it, in it and behind it.
	before, not, behind *regexp.Regexp
	flags               string
}

// matcher compiles a pattern, in which a backslash quotes.
func (r *runner) matcher(pattern string, extended, fold bool) *shPattern {
	key := pattern
	if extended {
		key += "\x00x"
	}
	if fold {
		key += "\x00i"
	}
	r.run.mu.Lock()
	defer r.run.mu.Unlock()
	if m := r.run.matchers[key]; m != nil {
		return m
	}
	m := compilePattern(pattern, extended, fold)
	if len(r.run.matchers) > 200 {
		clear(r.run.matchers)
	}
	r.run.matchers[key] = m
	return m
}

func compilePattern(pattern string, extended, fold bool) *shPattern {
	flags := "(?s)"
	if fold {
		flags = "(?si)"
	}
	m := &shPattern{flags: flags}
	if extended {
		if at := strings.Index(pattern, "!("); at >= 0 && (at == 0 || pattern[at-1] != '\\') {
			end := closing(pattern, at+2)
			if end > 0 {
				part := func(p string) *regexp.Regexp { return compiled(flags + "^(?:" + expression(p, true, ".*") + ")$") }
				m.before, m.not, m.behind = part(pattern[:at]), part("@("+pattern[at+2:end]+")"), part(pattern[end+1:])
				return m
			}
		}
	}
	m.source, m.short = expression(pattern, extended, ".*"), expression(pattern, extended, ".*?")
	m.all = compiled(flags + "^(?:" + m.source + ")$")
	return m
}

// compiled returns an expression, or one that matches nothing.
func compiled(text string) *regexp.Regexp {
	re, err := regexp.Compile(text)
	if err != nil {
		return regexp.MustCompile(`[^\x{0}-\x{10ffff}]`)
	}
	return re
}

// whole reports whether a text matches.
func (m *shPattern) whole(text string) bool {
	if m.not == nil {
		return m.all.MatchString(text)
	}
	for i := 0; i <= len(text) && len(text) < 4096; i++ {
		if !m.before.MatchString(text[:i]) {
			continue
		}
		for j := i; j <= len(text); j++ {
			if m.behind.MatchString(text[j:]) && !m.not.MatchString(text[i:j]) {
				return true
			}
		}
	}
	return false
}

// prefix returns the length of the shortest or longest start that matches, or -1.
func (m *shPattern) prefix(text string, long bool) int {
	if m.not != nil {
		return m.byEnds(text, long, func(i int) bool { return m.whole(text[:i]) })
	}
	source := m.short
	if long {
		source = m.source
	}
	re := compiled(m.flags + "^(?:" + source + ")")
	if long {
		re.Longest()
	}
	if at := re.FindStringIndex(text); at != nil {
		return at[1]
	}
	return -1
}

// suffix returns where the shortest or longest end begins that matches, or -1.
func (m *shPattern) suffix(text string, long bool) int {
	if m.not != nil {
		return m.byEnds(text, !long, func(i int) bool { return m.whole(text[i:]) })
	}
	before := "(.*)"
	if long {
		before = "(.*?)"
	}
	if at := compiled(m.flags + "^" + before + "(?:" + m.source + ")$").FindStringSubmatchIndex(text); at != nil {
		return at[3]
	}
	return -1
}

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

// find returns the leftmost longest match at or after a place.
func (m *shPattern) find(text string) (from, to int) {
	if m.not != nil {
		for i := range len(text) + 1 {
			for j := len(text); j >= i; j-- {
				if m.whole(text[i:j]) {
					return i, j
				}
			}
		}
		return -1, -1
	}
	if m.longest == nil {
		m.longest = compiled(m.flags + "(?:" + m.source + ")")
		m.longest.Longest()
	}
	if at := m.longest.FindStringIndex(text); at != nil {
		return at[0], at[1]
	}
	return -1, -1
}

// closing returns where the parenthesis ends that began before a place, or -1.
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

// expression writes a pattern as a regular expression.
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

// bracket reads [...] at a place, and returns where it ends. Without an end it is a bracket.
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
	return r.matcher(pattern, !r.posix, r.options["nocasematch"]).whole(text)
}
