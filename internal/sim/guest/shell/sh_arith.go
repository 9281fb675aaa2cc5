package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic evaluates one expression after the expansion of its variables. The value of a name and a subscript are
// evaluated as separate expressions.
type arithmetic struct {
	r    *runner
	text string
	at   int
	nest int  // the depth of nested operators
	skip bool // the branch is not taken: nothing changes, and a divisor may be 0
}

// arithm returns the value of an expression of the syntax tree.
func (r *runner) arithm(x syntax.ArithmExpr) int64 {
	if x == nil {
		return 0
	}
	return r.arithmText(r.expandText(r.snippet(x)))
}

// maxExpressions bounds the depth of expressions that values of names and subscripts contain.
const maxExpressions = 64

func (r *runner) arithmText(text string) int64 {
	a := &arithmetic{r: r, text: text}
	r.expressions++
	defer func() { r.expressions-- }()
	r.meter.Step()
	if r.expressions > maxExpressions {
		a.fail("expression recursion level exceeded", text)
	}
	if a.blanks(); a.at == len(a.text) {
		return 0
	}
	n := a.comma()
	if a.blanks(); a.at < len(a.text) {
		a.fail("syntax error in expression", a.text[a.at:])
	}
	return n
}

// fail ends the current line with an error, as bash does; in dash it ends the shell.
func (a *arithmetic) fail(what, token string) {
	a.r.meter.Step()
	text := strings.TrimLeft(a.text, " \t\n")
	if a.r.posix {
		what = map[string]string{"division by 0": "division by zero"}[what]
		if what == "" {
			what = "expecting primary"
		}
		a.r.fatal(2, "arithmetic expression: %s: \"%s\"", what, text)
	}
	a.r.abandon("%s: %s (error token is \"%s\")", text, what, token)
}

func (a *arithmetic) blanks() {
	for a.at < len(a.text) && strings.IndexByte(" \t\n\r", a.text[a.at]) >= 0 {
		a.at++
	}
}

// take consumes an operator if it is next, and the character after it is not in not, which would make another
// operator.
func (a *arithmetic) take(op string, not string) bool {
	a.blanks()
	rest := a.text[a.at:]
	if !strings.HasPrefix(rest, op) || len(rest) > len(op) && not != "" && strings.IndexByte(not, rest[len(op)]) >= 0 {
		return false
	}
	a.at += len(op)
	return true
}

func (a *arithmetic) comma() int64 {
	n := a.assignment()
	for !a.r.posix && a.take(",", "") {
		n = a.assignment()
	}
	return n
}

// assignment evaluates NAME op= expression, or a conditional expression.
func (a *arithmetic) assignment() int64 {
	defer a.deeper()()
	start := a.at
	if name, ok := a.name(); ok {
		a.blanks()
		for _, op := range []string{"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="} {
			if not := map[bool]string{true: "="}[op == "="]; a.take(op, not) {
				value := a.assignment()
				if op != "=" {
					value = a.binary(strings.TrimSuffix(op, "="), a.value(name), value)
				}
				a.set(name, value)
				return value
			}
		}
	}
	a.at = start
	return a.condition()
}

// name parses the name of a variable with its subscript.
func (a *arithmetic) name() (string, bool) {
	a.blanks()
	end := a.at
	for end < len(a.text) && (a.text[end] == '_' || a.text[end] >= 'a' && a.text[end] <= 'z' || a.text[end] >= 'A' && a.text[end] <= 'Z' ||
		end > a.at && a.text[end] >= '0' && a.text[end] <= '9') {
		end++
	}
	if end == a.at {
		return "", false
	}
	if end < len(a.text) && a.text[end] == '[' {
		depth := 0
		for i := end; i < len(a.text); i++ {
			switch a.text[i] {
			case '[':
				depth++
			case ']':
				if depth--; depth == 0 {
					name := a.text[a.at : i+1]
					a.at = i + 1
					return name, true
				}
			}
		}
	}
	name := a.text[a.at:end]
	a.at = end
	return name, true
}

func (a *arithmetic) value(name string) int64 {
	if a.skip {
		return 0
	}
	base, key, item := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	v := a.r.find(base)
	if v == nil || !v.set {
		if a.r.options["nounset"] {
			a.r.fatal(1, "%s: unbound variable", base)
		}
		return 0
	}
	text, _ := v.first()
	if item {
		text, _ = v.item(a.r.keyOf(v, key))
	}
	if text == "" {
		return 0
	}
	if a.r.posix {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64)
		if err != nil {
			a.r.fatal(2, "Illegal number: %s", text)
		}
		return n
	}
	return a.r.arithmText(text)
}

func (a *arithmetic) set(name string, value int64) {
	if !a.skip {
		a.r.must(a.r.set(name, strconv.FormatInt(value, 10)))
	}
}

func (a *arithmetic) condition() int64 {
	defer a.deeper()()
	n := a.level(0)
	if !a.take("?", "") {
		return n
	}
	before := a.skip
	a.skip = before || n == 0
	yes := a.comma()
	if !a.take(":", "") {
		a.fail("`:' expected for conditional expression", a.text[a.at:])
	}
	a.skip = before || n != 0
	no := a.condition()
	a.skip = before
	if n != 0 {
		return yes
	}
	return no
}

// levels are the binary operators by precedence, the weakest first; not are the characters that make a longer
// operator.
var levels = [][]struct{ op, not string }{
	{{"||", ""}}, {{"&&", ""}}, {{"|", "|="}}, {{"^", "="}}, {{"&", "&="}}, {{"==", ""}, {"!=", ""}},
	{{"<=", ""}, {">=", ""}, {"<", "<="}, {">", ">="}}, {{"<<", "="}, {">>", "="}}, {{"+", "="}, {"-", "="}},
	{{"*", "*="}, {"/", "="}, {"%", "="}},
}

func (a *arithmetic) level(i int) int64 {
	if i == len(levels) {
		return a.power()
	}
	n := a.level(i + 1)
	for {
		op := ""
		for _, o := range levels[i] {
			if a.take(o.op, o.not) {
				op = o.op
				break
			}
		}
		if op == "" {
			return n
		}
		before := a.skip
		switch op {
		case "||":
			a.skip = before || n != 0
		case "&&":
			a.skip = before || n == 0
		}
		from := a.at
		right := a.level(i + 1)
		a.skip = before
		if (op == "/" || op == "%") && right == 0 {
			if !a.skip {
				a.fail("division by 0", strings.TrimLeft(a.text[from:], " "))
			}
			right = 1
		}
		n = a.binary(op, n, right)
	}
}

func (a *arithmetic) binary(op string, x, y int64) int64 {
	if y == 0 && (op == "/" || op == "%") {
		a.fail("division by 0", "0")
	}
	return calculated(op, x, y)
}

func (a *arithmetic) power() int64 {
	n := a.unary()
	if a.r.posix || !a.take("**", "=") {
		return n
	}
	exponent := a.power()
	if exponent < 0 {
		a.fail("exponent less than 0", strconv.FormatInt(exponent, 10))
	}
	out := int64(1)
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 != 0 {
			out *= n
		}
		n *= n
	}
	return out
}

func (a *arithmetic) unary() int64 {
	defer a.deeper()()
	for _, op := range []string{"++", "--"} {
		start := a.at
		if a.r.posix || !a.take(op, "") {
			continue
		}
		if name, ok := a.name(); ok {
			value := a.value(name) + map[string]int64{"++": 1, "--": -1}[op]
			a.set(name, value)
			return value
		}
		a.at = start
	}
	switch {
	case a.take("!", "="):
		return a.binary("==", a.unary(), 0)
	case a.take("~", ""):
		return ^a.unary()
	case a.take("-", ""):
		return -a.unary()
	case a.take("+", ""):
		return a.unary()
	}
	return a.primary()
}

// maxNest bounds the nesting of an expression, because each level needs stack.
const maxNest = 1000

// deeper adds one level of nesting; the caller calls leave at its end.
func (a *arithmetic) deeper() (leave func()) {
	if a.nest++; a.nest > maxNest {
		a.fail("expression recursion level exceeded", a.text[a.at:])
	}
	return func() { a.nest-- }
}

func (a *arithmetic) primary() int64 {
	if a.take("(", "") {
		n := a.comma()
		if !a.take(")", "") {
			a.fail("missing `)'", a.text[a.at:])
		}
		return n
	}
	if name, ok := a.name(); ok {
		for _, op := range []string{"++", "--"} {
			if !a.r.posix && a.take(op, "") {
				value := a.value(name)
				a.set(name, value+map[string]int64{"++": 1, "--": -1}[op])
				return value
			}
		}
		return a.value(name)
	}
	end := a.at
	for end < len(a.text) && (a.text[end] >= '0' && a.text[end] <= '9' || end > a.at && strings.IndexByte("#@_", a.text[end]) >= 0 ||
		end > a.at && (a.text[end]|0x20) >= 'a' && (a.text[end]|0x20) <= 'z') {
		end++
	}
	token := a.text[a.at:end]
	if token == "" {
		if a.at == len(a.text) {
			token = strings.TrimLeft(a.text[strings.LastIndexAny(a.text, "+-*/%<>=&|^?:,(! ")+1:], " ")
			if i := strings.LastIndexAny(strings.TrimRight(a.text, " "), "+-*/%<>=&|^?:,(!"); i >= 0 {
				token = a.text[i:]
			}
		} else {
			token = a.text[a.at:]
		}
		a.fail("syntax error: operand expected", token)
	}
	a.at = end
	return a.number(token)
}

// number parses 12, 0x1f, 017 and 2#101.
func (a *arithmetic) number(token string) int64 {
	base, digits := 10, token
	if b, rest, some := strings.Cut(token, "#"); some && !a.r.posix {
		n, err := strconv.Atoi(b)
		if err != nil || n < 2 || n > 64 {
			a.fail("invalid arithmetic base", token)
		}
		if rest == "" {
			a.fail("invalid integer constant", token)
		}
		base, digits = n, rest
	} else if strings.HasPrefix(token, "0x") || strings.HasPrefix(token, "0X") {
		base, digits = 16, token[2:]
	} else if len(token) > 1 && token[0] == '0' {
		base, digits = 8, token[1:]
	}
	var n int64
	for i := range len(digits) {
		c := digits[i]
		d := 99
		switch {
		case c >= '0' && c <= '9':
			d = int(c - '0')
		case c >= 'a' && c <= 'z':
			d = int(c-'a') + 10
		case c >= 'A' && c <= 'Z' && base <= 36:
			d = int(c-'A') + 10
		case c >= 'A' && c <= 'Z':
			d = int(c-'A') + 36
		case c == '@':
			d = 62
		case c == '_':
			d = 63
		}
		if d >= base {
			a.fail("value too great for base", token)
		}
		n = n*int64(base) + int64(d)
	}
	return n
}
