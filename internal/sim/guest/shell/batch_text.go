package shell

import (
	"fmt"
	"strconv"
	"strings"
)

func takesBlock(line string) bool {
	word := strings.ToLower(strings.TrimLeft(line, " \t@"))
	return strings.HasPrefix(word, "if ") || strings.HasPrefix(word, "(") || strings.HasPrefix(word, "for ")
}

func openParens(line string) int {
	n, quoted := 0, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '(' && !quoted:
			n++
		case r == ')' && !quoted:
			n--
		}
	}
	return n
}

// expand puts in %NAME%, %1 and %%. An unset variable becomes nothing, as in a
// script; a lone % disappears.
func (b *batch) expand(line string) string {
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] != '%' {
			out.WriteByte(line[i])
			continue
		}
		rest := line[i+1:]
		switch {
		case strings.HasPrefix(rest, "%"):
			out.WriteByte('%')
			i++
		case rest != "" && rest[0] >= '0' && rest[0] <= '9':
			n := int(rest[0] - '0')
			if n == 0 {
				out.WriteString(b.o.Name)
			} else if n <= len(b.o.Args) {
				out.WriteString(b.o.Args[n-1])
			}
			i++
		case strings.HasPrefix(rest, "*"):
			out.WriteString(strings.Join(b.o.Args, " "))
			i++
		default:
			end := strings.IndexByte(rest, '%')
			if end <= 0 {
				continue
			}
			out.WriteString(b.variable(rest[:end]))
			i += end + 1
		}
	}
	return out.String()
}

func (b *batch) variable(name string) string {
	name = strings.ToUpper(name)
	switch name {
	case "ERRORLEVEL":
		return strconv.Itoa(b.level)
	case "CD":
		return b.dir
	}
	for k, v := range b.env {
		if strings.ToUpper(k) == name {
			return v
		}
	}
	return ""
}

// cutOperator splits at the first &, && or || outside quotes and parentheses.
func cutOperator(line string) (cmd, op, rest string) {
	quoted, depth := false, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '^' && !quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth > 0:
		case strings.HasPrefix(line[i:], "&&"), strings.HasPrefix(line[i:], "||"):
			return line[:i], line[i : i+2], line[i+2:]
		case c == '&' && (i == 0 || line[i-1] != '>'):
			return line[:i], "&", line[i+1:]
		}
	}
	return line, "", ""
}

func splitPipes(line string) []string {
	var parts []string
	quoted, depth, from := false, 0, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '^' && !quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth <= 0:
			parts = append(parts, line[from:i])
			from = i + 1
		}
	}
	return append(parts, line[from:])
}

func firstWord(line string) string {
	line = strings.TrimLeft(line, " \t")
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return line[:i]
	}
	if line == "" {
		return " "
	}
	return line
}

type redirect struct {
	fd   byte
	op   string
	file string
}

// cutRedirects takes redirections off a command line. What stands before the
// operator keeps its blanks: echo success > f writes "success ".
func cutRedirects(line string) (string, []redirect, error) {
	var out strings.Builder
	var rs []redirect
	quoted := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '^' && !quoted && i+1 < len(line):
			i++
			out.WriteByte(line[i])
			continue
		case c == '"':
			quoted = !quoted
		}
		if quoted || (c != '>' && c != '<') {
			out.WriteByte(c)
			continue
		}
		r := redirect{fd: '1', op: string(c)}
		if c == '<' {
			r.fd = '0'
		}
		if s := out.String(); i > 0 && (line[i-1] == '1' || line[i-1] == '2') && (i < 2 || line[i-2] == ' ' || line[i-2] == '\t') {
			r.fd = line[i-1]
			out.Reset()
			out.WriteString(s[:len(s)-1])
		}
		if i+1 < len(line) && line[i+1] == '>' && c == '>' {
			r.op = ">>"
			i++
		}
		rest := strings.TrimLeft(line[i+1:], " \t")
		skipped := len(line[i+1:]) - len(rest)
		words := splitArgs(rest)
		if len(words) == 0 {
			return "", nil, fmt.Errorf("no file behind %s", r.op)
		}
		n := rawLen(rest)
		r.file = words[0]
		if strings.HasPrefix(rest, "&") && len(rest) > 1 {
			r.file, n = rest[:2], 2
		}
		rs = append(rs, r)
		i += skipped + n
	}
	return out.String(), rs, nil
}

// rawLen is the length of the first word of s as written.
func rawLen(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(" \t<>", s[i]) >= 0:
			return i
		}
	}
	return len(s)
}

// splitArgs splits as the C runtime does, near enough: blanks outside quotes.
func splitArgs(line string) []string {
	var args []string
	var cur strings.Builder
	quoted, any := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '"':
			cur.WriteByte('"')
			any = true
			i++
		case c == '"':
			quoted, any = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
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

// isCmdlet tells what only PowerShell knows: Verb-Noun and its aliases.
func isCmdlet(name string) bool {
	switch name {
	case "cat", "ls", "gc", "gci", "cp", "rm", "ni", "iwr", "irm", "wget", "ipmo":
		return true
	}
	return strings.Contains(name, "-")
}

func isInternal(name string) bool {
	switch name {
	case "mkdir", "md", "copy", "del", "erase", "type", "move", "ren", "rename", "rmdir", "rd", "dir", "ver", "vol", "date", "time":
		return true
	}
	return false
}

func isBatchFile(name string) bool {
	return strings.HasSuffix(name, ".cmd") || strings.HasSuffix(name, ".bat")
}

// comparison reads A==B, or A equ B and A neq B of numbers and words.
func comparison(s string) (left, right, rest string, ok bool) {
	n := rawLen(s)
	word := s[:n]
	if l, r, found := strings.Cut(word, "=="); found {
		if r != "" {
			return l, r, s[n:], true
		}
		after := strings.TrimLeft(s[n:], " \t")
		m := rawLen(after)
		return l, after[:m], after[m:], m > 0
	}
	after := strings.TrimLeft(s[n:], " \t")
	op := rawLen(after)
	last := strings.TrimLeft(after[op:], " \t")
	m := rawLen(last)
	switch strings.ToLower(after[:op]) {
	case "==", "equ":
		return word, last[:m], last[m:], m > 0
	case "neq":
		if word == last[:m] {
			return word, "!" + word, last[m:], m > 0
		}
		return "", "", last[m:], m > 0
	}
	return "", "", "", false
}

// cutElse splits "(A) else (B)".
func cutElse(s string) (then, otherwise string) {
	if !strings.HasPrefix(s, "(") {
		return s, ""
	}
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				rest := strings.TrimSpace(s[i+1:])
				if strings.HasPrefix(strings.ToLower(rest), "else") {
					otherwise = strings.TrimSpace(rest[4:])
					if strings.HasPrefix(otherwise, "(") && strings.HasSuffix(otherwise, ")") {
						otherwise = otherwise[1 : len(otherwise)-1]
					}
				}
				return s[1:i], otherwise
			}
		}
	}
	return s, ""
}
