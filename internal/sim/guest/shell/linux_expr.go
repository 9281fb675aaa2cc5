package shell

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/regex"
)

// exprRun evaluates an expression of expr; its arguments are the words of the expression.
type exprRun struct {
	words []string
	at    int
	err   string
	meter *limit.Meter
}

func expr(_ context.Context, p *Process) int {
	e := &exprRun{words: p.Args[1:], meter: p.meter}
	if len(e.words) > 0 && e.words[0] == "--" {
		e.words = e.words[1:]
	}
	v := e.level(0)
	switch {
	case e.err != "":
		return p.Fail(2, "expr: %s", e.err)
	case e.at < len(e.words):
		return p.Fail(2, "expr: syntax error: unexpected argument '%s'", e.words[e.at])
	}
	p.Printf("%s\n", v)
	if v == "" || strings.Trim(v, "-0") == "" {
		return 1
	}
	return 0
}

var exprLevels = [][]string{{"|"}, {"&"}, {"<", "<=", "=", "==", "!=", ">=", ">"}, {"+", "-"}, {"*", "/", "%"}, {":"}}

func (e *exprRun) level(n int) string {
	if n == len(exprLevels) {
		return e.primary()
	}
	left := e.level(n + 1)
	for e.err == "" && e.at < len(e.words) && strings.Contains(" "+strings.Join(exprLevels[n], " ")+" ", " "+e.words[e.at]+" ") {
		op := e.words[e.at]
		e.at++
		left = e.apply(left, op, e.level(n+1))
	}
	return left
}

func (e *exprRun) next() string {
	if e.at >= len(e.words) {
		e.err = "syntax error: missing argument"
		return ""
	}
	e.at++
	return e.words[e.at-1]
}

func (e *exprRun) primary() string {
	switch w := e.next(); w {
	case "(":
		v := e.level(0)
		if e.next() != ")" && e.err == "" {
			e.err = "syntax error: expecting ')'"
		}
		return v
	case "length":
		return strconv.Itoa(len([]rune(e.next())))
	case "substr":
		text := []rune(e.next())
		from, _ := strconv.Atoi(e.next())
		n, _ := strconv.Atoi(e.next())
		if from < 1 || n < 1 || from > len(text) {
			return ""
		}
		return string(text[from-1 : from-1+min(n, len(text)-from+1)])
	case "index":
		text, set := e.next(), e.next()
		return strconv.Itoa(strings.IndexAny(text, set) + 1)
	case "match":
		return e.apply(e.next(), ":", e.next())
	default:
		return w
	}
}

func (e *exprRun) apply(a, op, b string) string {
	null := func(s string) bool { return s == "" || strings.Trim(s, "-0") == "" }
	switch op {
	case "|":
		if !null(a) {
			return a
		}
		if null(b) {
			return "0"
		}
		return b
	case "&":
		if null(a) || null(b) {
			return "0"
		}
		return a
	case ":":
		return e.match(a, b)
	}
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	switch numbers, compares := errX == nil && errY == nil, strings.Contains("< <= = == != >= >", op); {
	case !numbers && compares:
		return map[bool]string{true: "1", false: "0"}[ordered(op, strings.Compare(a, b))]
	case !numbers:
		e.err = "non-integer argument"
		return ""
	case y == 0 && (op == "/" || op == "%"):
		e.err = "division by zero"
		return ""
	}
	return strconv.FormatInt(calculated(op, x, y), 10)
}

// match implements STRING : PATTERN, which matches at the first character.
func (e *exprRun) match(text, pattern string) string {
	re, err := regex.Compile(strings.TrimPrefix(pattern, "^"), regex.Options{Begin: true})
	var m []int
	if err == nil {
		m = re.Find(e.meter, text)
	}
	switch {
	case errors.Is(err, regex.ErrUnsupported):
		e.err = "casement does not simulate " + err.Error()
		return ""
	case err != nil:
		e.err = "the pattern is wrong"
		return ""
	case len(m) > 2 && m[2] < 0:
		return ""
	case len(m) > 2:
		return text[m[2]:m[3]]
	case len(m) > 0:
		return strconv.Itoa(utf8.RuneCountInString(text[:m[1]]))
	}
	if strings.Contains(pattern, `\(`) {
		return ""
	}
	return "0"
}
