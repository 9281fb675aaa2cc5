package regex

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"casement.dev/casement/internal/limit"
)

// Pattern is a compiled pattern. A search with Go's engine cannot be interrupted, so a text is searched match by
// match: between two matches the guest's meter checks whether the program may continue, and one search takes a
// limited time.
type Pattern struct {
	re *regexp.Regexp
	// items is the maximum number of steps of a search for each byte of a text.
	items int
	// looks is set for a pattern whose matches depend on the text before them. after finds a match that follows a
	// character of context, and at finds a match directly after it.
	looks     bool
	after, at *regexp.Regexp
	// back is the pattern for the .NET engine, which supports back references; re is then nil. The time of one search
	// is limited.
	back *regexp2.Regexp
}

// maxSearch bounds one search, in bytes of the text times items of the pattern: about a second.
const maxSearch = 64 << 20

// New compiles an expression in Go's syntax.
func New(expression string) (*Pattern, error) { return compile(expression, false) }

// Single compiles an expression in Go's syntax for one match per text. All must not be called on it.
func Single(expression string, longest bool) (*Pattern, error) {
	p, err := parsePattern(expression)
	if err != nil {
		return nil, err
	}
	p.re, err = regexp.Compile(expression)
	return p.longest(longest), err
}

// parsePattern returns a pattern that is not compiled yet, or an error if compiling it would take long.
func parsePattern(text string) (*Pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("a %w of more than %d KiB", ErrUnsupported, maxPattern>>10)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p := &Pattern{items: items(parsed), looks: looksBehind(parsed)}
	if p.items > maxItems {
		return nil, fmt.Errorf("a %w whose repetitions make it larger than %d items", ErrUnsupported, maxItems)
	}
	return p, nil
}

func compile(text string, longest bool) (*Pattern, error) {
	p, err := parsePattern(text)
	if err != nil {
		return nil, err
	}
	if p.re, err = regexp.Compile(text); err != nil || !p.looks {
		return p.longest(longest), err
	}
	if p.after, err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + text + `)`); err != nil {
		return nil, err
	}
	p.at, err = regexp.Compile(`\A(?s:.)(` + text + `)`)
	return p.longest(longest), err
}

func (p *Pattern) longest(is bool) *Pattern {
	if is && p.re != nil {
		p.re.Longest()
		if p.at != nil {
			p.at.Longest()
		}
	}
	return p
}

// looksBehind reports whether the matches of a pattern depend on the text before them.
func looksBehind(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	for _, sub := range re.Sub {
		if looksBehind(sub) {
			return true
		}
	}
	return false
}

// items returns the number of instructions of a compiled pattern, up to the limit.
func items(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += items(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxItems+1)
}

// String returns the pattern in the syntax of its engine.
func (p *Pattern) String() string {
	if p.back != nil {
		return p.back.String()
	}
	return p.re.String()
}

// Groups returns the number of the pattern's groups.
func (p *Pattern) Groups() int {
	if p.back != nil {
		return len(p.back.GetGroupNumbers()) - 1
	}
	return p.re.NumSubexp()
}

// checkCost ends the program if one search would take too long. The search for a literal text takes the same time per
// byte at any length.
func (p *Pattern) checkCost(m *limit.Meter, text string) {
	m.Look()
	if _, whole := p.re.LiteralPrefix(); !whole && len(text) > maxSearch/p.items {
		m.End(fmt.Errorf("a line of %d KiB is too long for a pattern of %d items (%w)", len(text)>>10, p.items, limit.ErrExceeded))
	}
}

// Match reports whether a text has a match.
func (p *Pattern) Match(m *limit.Meter, text string) bool {
	if p.back != nil {
		return p.Find(m, text) != nil
	}
	p.checkCost(m, text)
	return p.re.MatchString(text)
}

// Find returns the byte offsets of the first match and of its groups, or nil.
func (p *Pattern) Find(m *limit.Meter, text string) []int {
	if p.back != nil {
		if all := p.findBacktracking(m, text, 1); len(all) > 0 {
			return all[0]
		}
		return nil
	}
	p.checkCost(m, text)
	return p.re.FindStringSubmatchIndex(text)
}

// All returns the byte offsets of at most most matches, or of all if most is negative, as FindAllStringSubmatchIndex
// of package regexp does.
func (p *Pattern) All(m *limit.Meter, text string, most int) (all [][]int) {
	if p.back != nil {
		return p.findBacktracking(m, text, most)
	}
	p.checkCost(m, text)
	before := -1 // the end of the last match
	for at := 0; at <= len(text) && (most < 0 || len(all) < most); {
		m.Look()
		found := p.from(text, at)
		if found == nil {
			break
		}
		empty := found[1] == at
		if !empty || found[0] != before {
			all = append(all, found)
		}
		before = found[1]
		if at = found[1]; empty {
			_, width := utf8.DecodeRuneInString(text[at:])
			at += max(width, 1)
		}
	}
	return all
}

// findBacktracking returns the byte offsets of the matches that the .NET engine finds.
func (p *Pattern) findBacktracking(meter *limit.Meter, text string, most int) (all [][]int) {
	at := make([]int, 0, len(text)+1) // the byte offset of each character
	for i := range text {
		at = append(at, i)
	}
	at = append(at, len(text))
	meter.Look()
	m, err := p.back.FindStringMatch(text)
	for ; m != nil && err == nil && (most < 0 || len(all) < most); m, err = p.back.FindNextMatch(m) {
		meter.Look()
		var one []int
		for _, g := range m.Groups() {
			if len(g.Captures) == 0 {
				one = append(one, -1, -1)
				continue
			}
			one = append(one, at[g.Index], at[g.Index+g.Length])
		}
		all = append(all, one)
	}
	return all
}

// from returns the first match at or after an offset in the text; the text before the offset is its context.
func (p *Pattern) from(text string, at int) []int {
	shift := at
	var found []int
	if !p.looks || at == 0 {
		found = p.re.FindStringSubmatchIndex(text[at:])
	} else {
		_, width := utf8.DecodeLastRuneInString(text[:at])
		first := p.after.FindStringSubmatchIndex(text[at-width:])
		if first == nil {
			return nil
		}
		begin := at - width + first[2]
		_, width = utf8.DecodeLastRuneInString(text[:begin])
		shift = begin - width
		if found = p.at.FindStringSubmatchIndex(text[shift:]); found != nil {
			found = found[2:] // the first group is the match
		}
	}
	for i := range found {
		if found[i] >= 0 {
			found[i] += shift
		}
	}
	return found
}

// Texts returns the texts of matches that are not empty.
func (p *Pattern) Texts(m *limit.Meter, text string) (all []string) {
	for _, found := range p.All(m, text, -1) {
		if found[0] < found[1] {
			all = append(all, text[found[0]:found[1]])
		}
	}
	return all
}

// Split returns the texts between matches, as Split of package regexp does with -1.
func (p *Pattern) Split(m *limit.Meter, text string) (parts []string) {
	if text == "" {
		return []string{""}
	}
	begin, end := 0, 0
	for _, found := range p.All(m, text, -1) {
		end = found[0]
		if found[1] != 0 {
			parts = append(parts, text[begin:end])
		}
		begin = found[1]
	}
	if end != len(text) {
		parts = append(parts, text[begin:])
	}
	return parts
}
