package shell

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
)

// closing finds the brace that closes the one at open.
func closing(s string, open int) int {
	depth, quote := 0, byte(0)
	for i := open; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// stripComments takes <# #> and # to the end of the line out.
func stripComments(script string) string {
	script = comment.ReplaceAllString(script, "")
	var out strings.Builder
	quote := byte(0)
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#' && (i == 0 || strings.IndexByte(" \t\r\n;({", script[i-1]) >= 0):
			for i < len(script) && script[i] != '\n' {
				i++
			}
			if i == len(script) {
				return out.String()
			}
		}
		out.WriteByte(script[i])
	}
	return out.String()
}

// statements splits at newlines and semicolons outside quotes and brackets, and
// keeps an else with its if.
func statements(script string) []string {
	var out []string
	depth, quote, from := 0, byte(0), 0
	add := func(end int) {
		st := strings.TrimSpace(script[from:end])
		switch {
		case st == "":
		case len(out) > 0 && strings.HasPrefix(strings.ToLower(st), "else"):
			out[len(out)-1] += " " + st
		default:
			out = append(out, st)
		}
		from = end
	}
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '`':
			i++
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '(':
			depth++
		case c == '}' || c == ')':
			depth--
			if rest := strings.TrimLeft(script[i+1:], " \t"); c == '}' && depth == 0 && !strings.HasPrefix(rest, "|") {
				add(i + 1)
			}
		case (c == '\n' || c == ';') && depth <= 0:
			add(i)
			from = i + 1
		}
	}
	add(len(script))
	return out
}

var native = regexp.MustCompile(`^[A-Za-z0-9_.:\\/]+$`)

// looksNative tells the name of a program from that of a cmdlet or an expression.
func looksNative(name string) bool {
	return native.MatchString(name)
}

// splitPowerShell splits at blanks outside of both kinds of quotes and commas'
// lists stay together.
func splitPowerShell(line string) []string {
	var args []string
	var cur strings.Builder
	quote, any := byte(0), false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			cur.WriteByte(c)
		case c == '"' || c == '\'':
			quote, any = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if any || cur.Len() > 0 {
				args = append(args, cur.String())
			}
			cur.Reset()
			any = false
		default:
			cur.WriteByte(c)
		}
	}
	if any || cur.Len() > 0 {
		args = append(args, cur.String())
	}
	return args
}

func decodeCommand(text string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%2 != 0 {
		return "", fmt.Errorf("not base64 of UTF-16")
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units)), nil
}
