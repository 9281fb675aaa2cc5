package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// builtinCommands returns the shells' builtins that also exist as programs.
func builtinCommands() Table {
	return Table{
		"test": test, "[": test, "printf": printf, "echo": echo,
		"true":  func(context.Context, *Process) int { return 0 },
		"false": func(context.Context, *Process) int { return 1 },
		"pwd":   func(_ context.Context, p *Process) int { p.Printf("%s\n", p.Dir); return 0 },
	}
}

// echo prints its words: dash's echo knows -n and escapes, bash's -n, -e and -E.
func echo(_ context.Context, p *Process) int {
	args, newline, escapes := p.Args[1:], true, !p.bash()
	for len(args) > 0 {
		letters, ok := strings.CutPrefix(args[0], "-")
		if !ok || letters == "" || strings.Trim(letters, "neE") != "" || !p.bash() && letters != "n" {
			break
		}
		for _, l := range letters {
			switch l {
			case 'n':
				newline = false
			default:
				escapes = l == 'e'
			}
		}
		args = args[1:]
		if !p.bash() {
			break
		}
	}
	text := strings.Join(args, " ")
	if escapes {
		var end bool
		if text, end = unescapeEcho(text, p.bash()); end {
			newline = false
		}
	}
	if newline {
		text += "\n"
	}
	p.Printf("%s", text)
	return 0
}

// unescape evaluates the escapes of a printf format.
func unescape(text string) string { text, _ = escapes(text, false, true, false); return text }

// unescapeEcho evaluates escapes as echo -e and %b do, where octal numbers start with 0. end is true if \c ended the
// text.
func unescapeEcho(text string, bash bool) (out string, end bool) {
	return escapes(text, true, bash, bash)
}

// escapes evaluates backslash escapes. zero allows a leading 0 before octal numbers, strict requires it, and bash
// enables \e and \x. The second result is true if \c ended the text.
func escapes(text string, zero, bash, strict bool) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		digits := func(set string, most int) string {
			n := 0
			for n < most && i+1+n < len(text) && strings.IndexByte(set, text[i+1+n]) >= 0 {
				n++
			}
			s := text[i+1 : i+1+n]
			i += n
			return s
		}
		switch c := text[i]; c {
		case 'a', 'b', 'f', 'n', 'r', 't', 'v':
			b.WriteByte("\a\b\f\n\r\t\v"[strings.IndexByte("abfnrtv", c)])
		case '\\':
			b.WriteByte('\\')
		case 'c':
			if zero {
				return b.String(), true
			}
			b.WriteString(`\c`)
		case 'e', 'E', 'x', 'u', 'U':
			switch {
			case !bash:
				b.WriteString(`\` + string(rune(c)))
			case c == 'e' || c == 'E':
				b.WriteByte(0x1b)
			default:
				most := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
				n, err := strconv.ParseUint(digits("0123456789abcdefABCDEF", most), 16, 32)
				switch {
				case err != nil:
					b.WriteString(`\` + string(rune(c)))
				case c == 'x':
					b.WriteByte(byte(n))
				default:
					b.WriteRune(rune(n))
				}
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			if c != '0' && strict {
				b.WriteString(`\` + string(rune(c)))
				continue
			}
			i--
			most := 3
			if zero && c == '0' {
				most = 4
			}
			n, _ := strconv.ParseUint(digits("01234567", most), 8, 32)
			b.WriteByte(byte(n))
		case '"', '\'':
			if zero {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		default:
			b.WriteString(`\` + string(rune(c)))
		}
	}
	return b.String(), false
}

// printing is the state of one run of printf.
type printing struct {
	p    *Process
	args []string
	used bool // an argument was consumed
	end  bool // %b had a \c
	bad  bool
	out  strings.Builder
}

func printf(_ context.Context, p *Process) int {
	args := p.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return p.Fail(2, "printf: usage: printf [-v var] format [arguments]")
	}
	pr := &printing{p: p, args: args[1:]}
	for {
		pr.used = false
		if what := pr.format(args[0]); what != "" {
			p.Printf("%s", pr.out.String())
			if strings.HasPrefix(what, "%") {
				return p.Fail(map[bool]int{true: 1, false: 2}[p.bash()], "printf: %s: invalid directive", what)
			}
			return p.Refuse("printf with %s", what)
		}
		if !pr.used || len(pr.args) == 0 || pr.end || pr.out.Len() > maxUnzipped {
			break
		}
	}
	p.Printf("%s", pr.out.String())
	if pr.bad {
		return 1
	}
	return 0
}

func (pr *printing) next() string {
	pr.used = true
	if len(pr.args) == 0 {
		return ""
	}
	a := pr.args[0]
	pr.args = pr.args[1:]
	return a
}

// format writes the format once. It returns a directive that is unknown, or "".
func (pr *printing) format(format string) string {
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c == '\\' && i+1 < len(format) {
			end := i + 2
			for end < len(format) && end < i+4 && format[i+1] >= '0' && format[i+1] <= '7' && format[end] >= '0' && format[end] <= '7' {
				end++
			}
			if format[i+1] == 'x' || format[i+1] == 'u' || format[i+1] == 'U' {
				for end < len(format) && end < i+2+map[byte]int{'x': 2, 'u': 4, 'U': 8}[format[i+1]] &&
					strings.IndexByte("0123456789abcdefABCDEF", format[end]) >= 0 {
					end++
				}
			}
			if format[i+1] == 'c' {
				pr.end = true
				return ""
			}
			text, _ := escapes(format[i:end], false, pr.p.bash(), false)
			pr.out.WriteString(text)
			i = end - 1
			continue
		}
		if c != '%' {
			pr.out.WriteByte(c)
			continue
		}
		end := i + 1
		for end < len(format) && strings.IndexByte("-+ 0#'", format[end]) >= 0 {
			end++
		}
		for end < len(format) && strings.IndexByte("0123456789.*", format[end]) >= 0 {
			end++
		}
		for end < len(format) && strings.IndexByte("lhLqjzt", format[end]) >= 0 && format[end] != 'q' {
			end++
		}
		if end == len(format) {
			return "%"
		}
		// The flag ' adds separators of thousands, which the locale of the guests' images does not have.
		spec := strings.ReplaceAll(strings.TrimRight(format[i:end], "lhLjzt"), "'", "")
		for strings.Contains(spec, "*") {
			spec = strings.Replace(spec, "*", strconv.Itoa(int(pr.number(pr.next()))), 1)
		}
		if close := strings.Index(format[end:], ")T"); format[end] == '(' && close > 0 && pr.p.bash() {
			at := pr.p.now()
			if len(pr.args) > 0 {
				if a := pr.next(); a != "-1" && a != "-2" {
					at = time.Unix(pr.number(a), 0)
				}
			}
			text, unknown := dateText(format[end+1:end+close], at.UTC())
			if unknown != "" {
				return "%(" + unknown + ")T"
			}
			pr.out.WriteString(fmt.Sprintf(spec+"s", text))
			i = end + close + 1
			continue
		}
		if !pr.directive(spec, format[end]) {
			return "%" + format[end:end+1]
		}
		if pr.end {
			return ""
		}
		i = end
	}
	return ""
}

func (pr *printing) directive(spec string, c byte) bool {
	if width, _, _ := strings.Cut(strings.TrimLeft(spec, "%-+ 0#"), "."); len(width) > 5 {
		return false
	}
	switch c {
	case '%':
		pr.out.WriteByte('%')
	case 's':
		fmt.Fprintf(&pr.out, strings.ReplaceAll(spec, "0", "0")+"s", byteText(pr.next()))
	case 'b':
		var text string
		text, pr.end = escapes(pr.next(), true, pr.p.bash(), false)
		fmt.Fprintf(&pr.out, spec+"s", byteText(text))
	case 'q':
		if !pr.p.bash() {
			return false
		}
		fmt.Fprintf(&pr.out, spec+"s", quoteBash(pr.next()))
	case 'c':
		fmt.Fprintf(&pr.out, spec+"s", (pr.next() + "\x00")[:1])
	case 'd', 'i':
		fmt.Fprintf(&pr.out, spec+"d", pr.number(pr.next()))
	case 'u':
		fmt.Fprintf(&pr.out, spec+"d", uint64(pr.number(pr.next())))
	case 'o', 'x', 'X':
		n := uint64(pr.number(pr.next()))
		if n == 0 && c != 'o' {
			spec = strings.ReplaceAll(spec, "#", "")
		}
		fmt.Fprintf(&pr.out, spec+string(rune(c)), n)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		a := pr.next()
		start := cFloat.FindString(a)
		if a != "" && (start == "" || len(start) < len(a)) {
			pr.bad = true
			pr.p.Fail(1, "printf: %s: invalid number", a)
		}
		start = strings.ToLower(strings.TrimSpace(start))
		if strings.Contains(start, "n") { // inf or nan
			width, _, _ := strings.Cut(strings.ReplaceAll(spec, "0", ""), ".")
			fmt.Fprintf(&pr.out, width+"s", strings.TrimPrefix(strings.TrimSuffix(start, "inity"), "+"))
			break
		}
		f, _, err := big.ParseFloat(cmp.Or(start, "0"), 0, 64, big.ToNearestEven) // a long double has 64 bits of precision
		if err != nil {
			return false
		}
		if (c|0x20) == 'g' && !strings.Contains(spec, ".") {
			spec += ".6"
		}
		if strings.Contains(spec, "#") { // # has no effect on numbers of that size
			short, _ := f.Float64()
			fmt.Fprintf(&pr.out, spec+string(rune(c)), short)
			break
		}
		fmt.Fprintf(&pr.out, spec+string(rune(c)), f)
	default:
		return false
	}
	return true
}

// byteText is a text whose width is counted in UTF-8 characters.
type byteText string

// number returns the value of an argument as C's strtol reads it.
func (pr *printing) number(text string) int64 {
	if text == "" {
		return 0
	}
	if (text[0] == '\'' || text[0] == '"') && len(text) > 1 {
		return int64([]rune(text[1:])[0])
	}
	m := cNumber.FindStringSubmatch(text)
	base, kind := 10, ""
	switch {
	case len(m[2]) > 1 && (m[2][1]|0x20) == 'x':
		base, kind, m[2] = 16, "hex ", m[2][2:]
	case len(m[2]) > 0 && m[2][0] == '0':
		base, kind = 8, "octal "
	}
	n, err := strconv.ParseInt(m[1]+m[2], base, 64)
	if errors.Is(err, strconv.ErrRange) {
		pr.bad = true
		pr.p.Fail(1, "printf: warning: %s: Numerical result out of range", text)
	} else if err != nil || m[3] != "" {
		pr.bad = true
		if m[3] == "" || m[3][0] < '0' || m[3][0] > '9' {
			kind = ""
		}
		pr.p.Fail(1, "printf: %s: %s", text, map[bool]string{true: "invalid " + kind + "number", false: "expected numeric value"}[pr.p.bash()])
	}
	return n
}

// cNumber matches the sign, the digits and the rest of an integer.
var cNumber = regexp.MustCompile(`(?s)^\s*([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*|)(.*)$`)

// cFloat matches a floating-point number at the start of a text.
var cFloat = regexp.MustCompile(`(?i)^\s*([-+]?(?:0x[0-9a-f]+|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|inf(?:inity)?|nan))?`)

// quoteBash quotes a word as bash's printf %q does.
func quoteBash(s string) string {
	if s == "" {
		return "''"
	}
	if strings.ContainsAny(s, "\n\t\r\a\b\f\v\x1b") {
		return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\a", `\a`,
			"\b", `\b`, "\f", `\f`, "\v", `\v`, "\x1b", `\E`).Replace(s) + "'"
	}
	var b strings.Builder
	for i, r := range s {
		if strings.ContainsRune(" !\"$&'()*,;<>?[\\]^`{|}", r) || i == 0 && (r == '#' || r == '~') {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
