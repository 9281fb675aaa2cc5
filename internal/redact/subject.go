package redact

import (
	"slices"
	"strings"
)

// subject is a text from which secrets are removed.
type subject struct {
	// text is the text after the rules that have been applied so far.
	text string
	// lower is the lower case of the whole text.
	lower string
	// pairs has a bit for each pair of adjacent bytes in lower; several pairs share a bit. For most rules it is
	// sufficient to show that the text cannot contain their words.
	pairs [64]uint64
}

func newSubject(s string) *subject {
	t := &subject{text: s, lower: strings.ToLower(s)}
	for i := 1; i < len(t.lower); i++ {
		word, bit := pair(t.lower[i-1], t.lower[i])
		t.pairs[word] |= bit
	}
	return t
}

// pair returns the position of a pair's bit.
func pair(a, b byte) (word int, bit uint64) {
	n := (uint(a)*37 + uint(b)) % (64 * 64)
	return int(n / 64), 1 << (n % 64)
}

// has reports whether the text contains a part, which has to be in lower case.
func (t *subject) has(part string) bool {
	if len(part) > 1 {
		if word, bit := pair(part[0], part[1]); t.pairs[word]&bit == 0 {
			return false
		}
	}
	return strings.Contains(t.lower, part)
}

func (t *subject) hasAny(parts []string) bool { return slices.ContainsFunc(parts, t.has) }

// apply replaces the matches of the rules.
func (t *subject) apply(rules []rule) {
	for _, r := range rules {
		if r.may(t) {
			t.text = r.replace(t.text)
		}
	}
}
