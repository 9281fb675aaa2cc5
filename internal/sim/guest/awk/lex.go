// Package awk runs programs of the pattern language awk over the texts that the caller passes. It opens files and
// starts programs only through the caller's functions. It refuses by name (Unsupported) every feature that it does
// not implement. The guests import it.
package awk

import (
	"fmt"
	"strings"
	"unicode"
)

// Unsupported is the error for a feature of awk that this package does not have.
type Unsupported string

// Error implements error.
func (u Unsupported) Error() string { return string(u) }

type kind int

const (
	end kind = iota
	newline
	number
	text
	pattern
	name
	function // a name directly followed by (
	word     // a keyword
	symbol
)

type token struct {
	kind kind
	text string
}

var words = map[string]bool{"BEGIN": true, "END": true, "if": true, "else": true, "while": true, "for": true,
	"do": true, "break": true, "continue": true, "next": true, "nextfile": true,
	"exit": true, "print": true, "printf": true, "getline": true, "delete": true, "in": true, "function": true,
	"func": true, "return": true}

var symbols = []string{"**=", "&&", "||", "==", "<=", ">=", "!=", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", ">>", "!~", "**"}

// lex returns the tokens of a program.
func lex(src string) (out []token, err error) {
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '\\' && i+1 < len(src) && src[i+1] == '\n':
			i += 2
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case c == '\n':
			out = append(out, token{newline, "\n"})
			i++
		case c == '"':
			var s string
			if s, i, err = quoted(src, i+1); err != nil {
				return nil, err
			}
			out = append(out, token{text, s})
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(src) && src[i+1] >= '0' && src[i+1] <= '9':
			n := len(numeral(src[i:]))
			out = append(out, token{number, src[i : i+n]})
			i += n
		case c == '_' || unicode.IsLetter(rune(c)):
			j := i
			for j < len(src) && (src[j] == '_' || src[j] >= '0' && src[j] <= '9' || unicode.IsLetter(rune(src[j]))) {
				j++
			}
			k := name
			switch {
			case words[src[i:j]]:
				k = word
			case j < len(src) && src[j] == '(':
				k = function
			}
			out = append(out, token{k, src[i:j]})
			i = j
		case c == '/' && regexMayFollow(out):
			j, class := i+1, false
			for ; j < len(src) && (src[j] != '/' || class); j++ {
				switch src[j] {
				case '\n':
					return nil, fmt.Errorf("unterminated regexp")
				case '\\':
					j++
				case '[':
					class = true
				case ']':
					class = false
				}
			}
			if j >= len(src) {
				return nil, fmt.Errorf("unterminated regexp")
			}
			out = append(out, token{pattern, strings.ReplaceAll(src[i+1:j], `\/`, "/")})
			i = j + 1
		default:
			s := string(rune(c))
			for _, candidate := range symbols {
				if strings.HasPrefix(src[i:], candidate) {
					s = candidate
					break
				}
			}
			if len(s) == 1 && !strings.Contains("{}()[];,+-*/%^!<>|?:~$=&", s) {
				return nil, fmt.Errorf("syntax error at %q", s)
			}
			out = append(out, token{symbol, s})
			i += len(s)
		}
	}
	return append(out, token{end, ""}), nil
}

// regexMayFollow reports whether a / after these tokens begins a regular expression, and is not a division.
func regexMayFollow(before []token) bool {
	if len(before) == 0 {
		return true
	}
	switch last := before[len(before)-1]; last.kind {
	case number, text, name, pattern:
		return false
	case symbol:
		return last.text != ")" && last.text != "]" && last.text != "$" && last.text != "++" && last.text != "--"
	}
	return true
}

// quoted reads a string; i is the index after its opening quote. It returns the text and the index after the closing
// quote.
func quoted(src string, i int) (string, int, error) {
	var b strings.Builder
	for ; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			return b.String(), i + 1, nil
		case c == '\n':
			return "", 0, fmt.Errorf("unterminated string")
		case c == '\\' && i+1 < len(src):
			i++
			switch n := src[i]; {
			case n == '"' || n == '\\' || n == '/':
				b.WriteByte(n)
			case n == '\n':
			case strings.IndexByte("abfnrtv", n) >= 0:
				b.WriteByte("\a\b\f\n\r\t\v"[strings.IndexByte("abfnrtv", n)])
			case n >= '0' && n <= '7':
				v := 0
				for k := 0; k < 3 && i < len(src) && src[i] >= '0' && src[i] <= '7'; k++ {
					v = v*8 + int(src[i]-'0')
					i++
				}
				i--
				b.WriteByte(byte(v))
			default:
				b.WriteByte('\\')
				b.WriteByte(n)
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, fmt.Errorf("unterminated string")
}

// numeral returns the number at the start of s, or "".
func numeral(s string) string {
	i := 0
	digits := func() int {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i - from
	}
	n := digits()
	if i < len(s) && s[i] == '.' {
		i++
		n += digits()
	}
	if n == 0 {
		return ""
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		mark := i
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if digits() == 0 {
			i = mark
		}
	}
	return s[:i]
}
