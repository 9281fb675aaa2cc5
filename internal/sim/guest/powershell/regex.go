package powershell

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dlclark/regexp2"
)

// pattern compiles a regular expression of an operator, which ignores case unless exact is set.
func pattern(p string, exact bool) (*regexp2.Regexp, error) {
	re, err := compiled(p, map[bool]int64{false: int64(regexp2.IgnoreCase)}[exact])
	if f := failed(err); f != nil {
		f.id = f.exception.kind
	}
	return re, err
}

// maxPattern is the maximum size of a regular expression in bytes. The engine uses some hundred times as much memory.
const maxPattern = 64 << 10

// patternFault returns the error of an invalid pattern in .NET's words.
func patternFault(err error) string {
	s := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	if i := strings.LastIndex(s, " in `"); i >= 0 {
		s = s[:i]
	}
	return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] + "."
}

// searchLimit returns the error of a search that took too long, or nil without an error.
func searchLimit(err error) error {
	if err == nil {
		return nil
	}
	return &LimitError{"searches a text for longer than a second"}
}

// match is -match. It sets $Matches.
func (r *run) match(p, s string, exact bool) (bool, error) {
	re, err := pattern(p, exact)
	if err != nil {
		return false, err
	}
	m, err := re.FindStringMatch(s)
	if err != nil || m == nil {
		return false, searchLimit(err)
	}
	h := newHash()
	for _, g := range m.Groups() {
		if len(g.Captures) == 0 {
			continue
		}
		if n := re.GroupNumberFromName(g.Name); g.Name == "" || text(int64(n)) == g.Name {
			h.set(int64(n), g.String())
			continue
		}
		h.set(g.Name, g.String())
	}
	r.scope.vars["matches"] = &cell{value: h}
	return true, r.take(len(s))
}

// replace applies -replace.
func (r *run) replace(exact bool, left, right any) (any, error) {
	items := list(right)
	if len(items) == 0 {
		items = []any{""}
	}
	if len(items) > 2 {
		return nil, broken("RuntimeException", "BadReplaceArgument",
			"The -replace operator allows only two elements to follow it, not %d.", len(items))
	}
	re, err := pattern(text(items[0]), exact)
	if f := failed(err); f != nil && len(items) == 1 {
		return nil, broken("RuntimeException", "InvalidRegularExpression", "The regular expression pattern %s is not valid.", text(items[0]))
	} else if err != nil {
		return nil, err
	}
	with := ""
	if len(items) == 2 {
		if _, ok := items[1].(function); ok {
			return nil, lacking("a script block as the replacement of -replace, which Windows PowerShell takes for its text")
		}
		with = text(items[1])
	}
	one := func(v any) (any, error) {
		s, err := r.text(v)
		if err != nil {
			return nil, err
		}
		if err := r.take(len(s)); err != nil {
			return nil, err
		}
		if len(with) > 0 && len(s)*(1+len(with)) > maxValue {
			n, err := r.count(re, s)
			if err != nil {
				return nil, err
			}
			if grown := len(s) + n*(len(with)+strings.Count(with, "$")*len(s)); grown > maxValue {
				return nil, r.take(grown)
			}
		}
		if len(s) > longText {
			if n, err := r.count(re, s); err != nil {
				return nil, err
			} else if n > maxReplaced {
				return nil, &LimitError{fmt.Sprintf("replaces more than %d parts of a text", maxReplaced)}
			}
		}
		out, err := re.Replace(s, with, -1, -1)
		if err != nil {
			return nil, searchLimit(err)
		}
		return out, r.take(len(out))
	}
	a, ok := left.(*array)
	if !ok {
		return one(left)
	}
	out := newArray()
	for _, item := range a.items {
		v, err := one(item)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, v)
	}
	return out, nil
}

// longText is the length in bytes from which matches are counted first, because a replacement of all matches
// cannot be interrupted; maxReplaced is the maximum number of them.
const (
	longText    = 256 << 10
	maxReplaced = 250_000
)

// count returns the number of matches of a pattern in a text.
func (r *run) count(re *regexp2.Regexp, s string) (int, error) {
	n := 0
	m, err := re.FindStringMatch(s)
	for err == nil && m != nil {
		if err := r.step(); err != nil {
			return n, err
		}
		n++
		m, err = re.FindNextMatch(m)
	}
	return n, searchLimit(err)
}

// split is -split with a pattern or a script block, a maximum number of parts, and an option.
func (r *run) split(exact bool, left, right any) (any, error) {
	options := list(right)
	if len(options) == 0 {
		if right != nil {
			return nil, broken("RuntimeException", "BadOperatorArgument", "The argument to operator '-split' is not valid: %s.", kindOf(right))
		}
		options = []any{""}
	}
	if f, ok := options[0].(function); ok {
		return r.splitBy(f, left)
	}
	p, most := text(options[0]), int64(0)
	if len(options) > 1 {
		n, err := r.convert("int", options[1])
		if f := failed(err); f != nil {
			f.id = "RuntimeException"
			return nil, f
		} else if err != nil {
			return nil, err
		}
		most, _, _ = wholeOf(n)
	}
	if len(options) > 2 {
		switch strings.ToLower(text(options[2])) {
		case "simplematch":
			p = regexp2.Escape(p)
		case "regexmatch":
		default:
			return nil, lacking("the option %s of -split", text(options[2]))
		}
	}
	re, err := pattern(p, exact)
	if err != nil {
		return nil, err
	}
	out := textArray(nil)
	for _, item := range orNull(left) {
		s, err := r.text(item)
		if err != nil {
			return nil, err
		}
		if err := r.splitPattern(re, s, most, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// splitBy splits texts at each character for which a script block returns true.
func (r *run) splitBy(f function, left any) (any, error) {
	out := textArray(nil)
	for _, item := range orNull(left) {
		part := ""
		for _, c := range text(item) {
			yes, err := r.apply(f, string(c))
			if err != nil {
				return nil, err
			}
			if !truth(yes) {
				part += string(c)
				continue
			}
			out.items = append(out.items, part)
			part = ""
		}
		out.items = append(out.items, part)
	}
	return out, nil
}

// splitPattern appends the parts of a text between matches of a pattern to out. most bounds their number if it is positive.
func (r *run) splitPattern(re *regexp2.Regexp, s string, most int64, out *array) error {
	if err := r.take(4 * len(s)); err != nil {
		return err
	}
	runes, from, n := []rune(s), 0, int64(1)
	m, err := re.FindRunesMatch(runes)
	for ; err == nil && m != nil && (most <= 0 || n < most); n++ {
		if err := errors.Join(r.step(), r.take(partSize)); err != nil {
			return err
		}
		out.items = append(out.items, string(runes[from:m.Index]))
		for _, g := range m.Groups()[1:] {
			if len(g.Captures) > 0 {
				out.items = append(out.items, g.String())
			}
		}
		from = m.Index + m.Length
		m, err = re.FindNextMatch(m)
	}
	out.items = append(out.items, string(runes[from:]))
	return searchLimit(err)
}

// partSize is the memory of a part of a text beside its characters, in bytes.
const partSize = 32

// like reports whether a text matches a wildcard pattern, with * ? and [a-z].
func like(s, p string, exact bool) (bool, error) {
	re, err := pattern(`\A`+wildcard(p)+`\z`, exact)
	if bound, ok := errors.AsType[*LimitError](err); ok {
		return false, bound
	}
	if err != nil {
		return false, broken("WildcardPatternException", "RuntimeException", "The specified wildcard character pattern is not valid: %s", p)
	}
	yes, err := re.MatchString(s)
	return yes, searchLimit(err)
}

// likeAny reports whether a text matches one of some wildcard patterns.
func likeAny(s string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { yes, err := like(s, p, false); return err == nil && yes })
}

// wildcard returns the regular expression of a wildcard pattern.
func wildcard(p string) string {
	var b strings.Builder
	runes := []rune(p)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; c {
		case '*':
			b.WriteString(`[\s\S]*`)
		case '?':
			b.WriteString(`[\s\S]`)
		case '`':
			if i+1 < len(runes) {
				i++
				b.WriteString(regexp2.Escape(string(runes[i])))
			}
		case '[':
			end := strings.IndexRune(string(runes[i:]), ']')
			if end < 2 {
				b.WriteString(`\[`)
				continue
			}
			set := string(runes[i+1 : i+len([]rune(string(runes[i:])[:end]))])
			b.WriteString("[" + strings.ReplaceAll(strings.ReplaceAll(set, `\`, `\\`), "^", `\^`) + "]")
			i += len([]rune(set)) + 1
		default:
			b.WriteString(regexp2.Escape(string(c)))
		}
	}
	return b.String()
}
