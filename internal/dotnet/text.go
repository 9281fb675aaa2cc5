package dotnet

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Units returns the UTF-16 code units of a text, in which .NET counts and cuts strings.
func Units(s string) []uint16 { return utf16.Encode([]rune(s)) }

// FromUnits returns the text of UTF-16 code units.
func FromUnits(u []uint16) string { return string(utf16.Decode(u)) }

// Len returns the number of UTF-16 code units of a text.
func Len(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		n += cond(r > 0xffff, 1, 0)
	}
	return n
}

// Upper returns a text in upper case, each letter by itself, as .NET does without a culture. Texts that only differ in
// case have the same result.
func Upper(s string) string { return each(s, unicode.ToUpper) }

// Lower returns a text in lower case, each letter by itself.
func Lower(s string) string { return each(s, unicode.ToLower) }

func each(s string, to func(rune) rune) string {
	return strings.Map(func(r rune) rune {
		if m := to(r); utf16.RuneLen(m) == utf16.RuneLen(r) && (r < 128) == (m < 128) {
			return m
		}
		return r
	}, s)
}

// Compare orders texts as a culture does: by letters, then by accents, then lower case before upper case; punctuation
// is before digits, and digits are before letters.
func Compare(a, b string, ignoreCase bool) int {
	p, pm := lettersAndMarks(a)
	q, qm := lettersAndMarks(b)
	letters, capitals := 0, 0
	for i := range min(len(p), len(q)) {
		c, d := unicode.ToLower(p[i]), unicode.ToLower(q[i])
		letters = cmp.Or(letters, cmp.Compare(class(c), class(d)), cmp.Compare(c, d))
		capitals = cmp.Or(capitals, -cmp.Compare(p[i], q[i])) // capital letters have the smaller codes
	}
	return cmp.Or(letters, cmp.Compare(len(p), len(q)), strings.Compare(pm, qm), cond(ignoreCase, 0, capitals))
}

// lettersAndMarks separates the accents from the letters of a text.
func lettersAndMarks(s string) (letters []rune, marks string) {
	for _, c := range norm.NFD.String(s) {
		if unicode.Is(unicode.Mn, c) {
			marks += string(c)
			continue
		}
		letters, marks = append(letters, c), marks+" "
	}
	return letters, marks
}

// signs is the punctuation of ASCII in the order of Unicode's collation. Source:
// https://www.unicode.org/Public/UCA/latest/allkeys.txt.
const signs = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

// class returns the number by which characters are ordered first.
func class(r rune) int {
	switch i := strings.IndexRune(signs, r); {
	case unicode.IsLetter(r):
		return 300
	case unicode.IsDigit(r):
		return 200
	case i >= 0:
		return i
	}
	return 100
}
