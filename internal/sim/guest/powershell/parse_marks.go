package powershell

import "strings"

// typographic are the quotes and dashes of word processors, with the characters that PowerShell treats them as
// (language specification, chapters 2.2.3 and 2.3.5.2).
var typographic = map[rune]rune{
	'\u201c': '"', '\u201d': '"', '\u201e': '"', '\u2018': '\'', '\u2019': '\'', '\u201a': '\'', '\u201b': '\'',
	'\u2013': '-', '\u2014': '-', '\u2015': '-',
}

// plainMarks replaces typographic quotes and dashes in the tokens of a script. Texts, comments and here-strings stay unchanged.
func plainMarks(script string) string {
	if !strings.ContainsAny(script, "\u201c\u201d\u201e\u2018\u2019\u201a\u201b\u2013\u2014\u2015") {
		return script
	}
	var b strings.Builder
	runes := []rune(script)
	in := rune(0)
	before := func(i int) rune {
		if i == 0 {
			return '\n'
		}
		return runes[i-1]
	}
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		as, marked := typographic[c]
		if !marked {
			as = c
		}
		switch {
		case in == '#': // a comment up to the end of the line
			if c == '\n' {
				in = 0
			}
			b.WriteRune(c)
		case in == '<': // a block comment
			if c == '>' && before(i) == '#' {
				in = 0
			}
			b.WriteRune(c)
		case in == '@' || in == 'h': // a here-string in double or single quotes
			quote := map[rune]rune{'@': '"', 'h': '\''}[in]
			if as == quote && before(i) == '\n' && i+1 < len(runes) && runes[i+1] == '@' {
				in, c = 0, as
			}
			b.WriteRune(c)
		case in != 0:
			if c == '`' && in == '"' && i+1 < len(runes) {
				b.WriteRune(c)
				i++
				b.WriteRune(runes[i])
				continue
			}
			if as == in {
				in, c = 0, as
			}
			b.WriteRune(c)
		case c == '`' && i+1 < len(runes):
			b.WriteRune(c)
			i++
			b.WriteRune(runes[i])
		case c == '#' && before(i) == '<':
			in = '<'
			b.WriteRune(c)
		case c == '#' && strings.ContainsRune(" \t\r\n;({|", before(i)):
			in = '#'
			b.WriteRune(c)
		case as == '"' || as == '\'':
			in = as
			if before(i) == '@' {
				in = map[rune]rune{'"': '@', '\'': 'h'}[as]
			}
			b.WriteRune(as)
		default:
			b.WriteRune(as)
		}
	}
	return b.String()
}
