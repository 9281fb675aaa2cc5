package shell

import (
	"context"
	"math/big"
	"slices"
	"strings"
)

// decimal is a number of bc: an integer with scale decimal digits.
type decimal struct {
	n     *big.Int
	scale int
}

// calculation is one run of bc: expressions, variables, scale and obase. It refuses other features of bc.
type calculation struct {
	p       *Process
	text    string
	at      int
	scale   int
	obase   int64
	vars    map[string]decimal
	last    decimal
	nest    int
	problem string // the reason of a refusal or an error
	refused bool
}

// Bounds of a calculation: the nesting of an expression, and the bits of a number.
const (
	maxNestOfBC = 500
	maxBits     = 400_000
)

// maxScale bounds the decimal digits of a number.
const maxScale = 1000

func bc(_ context.Context, p *Process, o options) int {
	c := &calculation{p: p, obase: 10, vars: map[string]decimal{}, last: decimal{new(big.Int), 0}}
	if o.has("l") {
		c.scale = 20
	}
	text, code := p.inputs(o.operands)
	if len(o.operands) > 0 {
		more, _ := p.inputs(nil)
		text += more
	}
	text = strings.ReplaceAll(text, "\\\n", "")
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		p.meter.Step()
		line, _, _ = strings.Cut(line, "#")
		c.text, c.at = strings.TrimSpace(line), 0
		switch {
		case c.text == "":
			continue
		case c.text == "quit" || c.text == "halt":
			return code
		case strings.HasPrefix(c.text, "\"") && strings.Count(c.text, "\"") == 2 && strings.HasSuffix(c.text, "\""):
			p.Printf("%s", strings.Trim(c.text, "\""))
			continue
		}
		value, shown := c.statement()
		switch {
		case c.refused:
			return p.Refuse("bc with %s", c.problem)
		case c.problem != "":
			p.Fail(1, "%s", c.problem)
			c.problem = ""
		case shown:
			c.last = value
			p.Printf("%s\n", c.show(value))
		}
	}
	return code
}

func (c *calculation) fail(refused bool, text string) decimal {
	if c.problem == "" {
		c.problem, c.refused = text, refused
	}
	return decimal{new(big.Int), 0}
}

// statement evaluates an expression or an assignment. shown is false for an assignment, whose value is not printed.
func (c *calculation) statement() (value decimal, shown bool) {
	name := c.word()
	c.blanks()
	if name != "" && c.at < len(c.text) && c.text[c.at] == '=' && !strings.HasPrefix(c.text[c.at:], "==") {
		c.at++
		value = c.sum()
		c.end()
		switch name {
		case "scale":
			if c.scale = int(c.whole(value).Int64()); c.scale > maxScale || c.scale < 0 {
				c.fail(true, "a scale of more than 1000")
			}
		case "obase":
			if c.obase = c.whole(value).Int64(); c.obase < 2 || c.obase > 16 {
				c.fail(true, "this obase")
			}
		case "ibase":
			if c.whole(value).Int64() != 10 {
				c.fail(true, "another ibase than 10")
			}
		default:
			c.vars[name] = value
		}
		return value, false
	}
	c.at = 0
	value = c.comparison()
	c.end()
	return value, true
}

func (c *calculation) end() {
	if c.blanks(); c.at < len(c.text) {
		c.fail(true, c.text)
	}
}

func (c *calculation) blanks() {
	for c.at < len(c.text) && strings.IndexByte(" \t\r", c.text[c.at]) >= 0 {
		c.at++
	}
}

func (c *calculation) word() string {
	c.blanks()
	from := c.at
	for c.at < len(c.text) && (c.text[c.at] >= 'a' && c.text[c.at] <= 'z' || c.text[c.at] == '_' || c.at > from &&
		c.text[c.at] >= '0' && c.text[c.at] <= '9') {
		c.at++
	}
	return c.text[from:c.at]
}

func (c *calculation) take(ops ...string) string {
	c.blanks()
	for _, op := range ops {
		if strings.HasPrefix(c.text[c.at:], op) {
			c.at += len(op)
			return op
		}
	}
	return ""
}

func (c *calculation) comparison() decimal {
	x := c.sum()
	op := c.take("==", "!=", "<=", ">=", "<", ">", "&&", "||")
	if op == "" {
		return x
	}
	if op == "&&" || op == "||" {
		return c.fail(true, op)
	}
	y := c.sum()
	d := c.aligned(x, max(x.scale, y.scale)).Cmp(c.aligned(y, max(x.scale, y.scale)))
	return decimal{big.NewInt(map[bool]int64{true: 1}[ordered(op, d)]), 0}
}

func ten(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// aligned returns a number as an integer with scale decimal digits; further digits are dropped.
func (c *calculation) aligned(x decimal, scale int) *big.Int {
	if scale >= x.scale {
		return new(big.Int).Mul(x.n, ten(scale-x.scale))
	}
	return new(big.Int).Quo(x.n, ten(x.scale-scale))
}

func (c *calculation) whole(x decimal) *big.Int { return c.aligned(x, 0) }

func (c *calculation) sum() decimal {
	x := c.product()
	for op := c.take("+", "-"); op != ""; op = c.take("+", "-") {
		y := c.product()
		scale := max(x.scale, y.scale)
		a, b := c.aligned(x, scale), c.aligned(y, scale)
		if op == "-" {
			b.Neg(b)
		}
		x = decimal{a.Add(a, b), scale}
	}
	return x
}

func (c *calculation) product() decimal {
	x := c.power()
	for op := c.take("*", "/", "%"); op != ""; op = c.take("*", "/", "%") {
		y := c.power()
		if op != "*" && y.n.Sign() == 0 {
			return c.fail(false, "Runtime error (func=(main), adr=3): Divide by zero")
		}
		switch op {
		case "*":
			if x.n.BitLen()+y.n.BitLen() > maxBits {
				return c.fail(true, "a number of so many digits")
			}
			all := decimal{new(big.Int).Mul(x.n, y.n), x.scale + y.scale}
			scale := min(all.scale, max(c.scale, x.scale, y.scale))
			x = decimal{c.aligned(all, scale), scale}
		case "/":
			x = c.quotient(x, y, c.scale)
		default:
			q := c.quotient(x, y, c.scale)
			scale := max(c.scale+y.scale, x.scale)
			part := new(big.Int).Mul(q.n, y.n)
			rest := c.aligned(x, scale)
			x = decimal{rest.Sub(rest, c.aligned(decimal{part, q.scale + y.scale}, scale)), scale}
		}
	}
	return x
}

func (c *calculation) quotient(x, y decimal, scale int) decimal {
	return decimal{new(big.Int).Quo(new(big.Int).Mul(x.n, ten(scale+y.scale)), new(big.Int).Mul(y.n, ten(x.scale))), scale}
}

func (c *calculation) power() decimal {
	if c.nest++; c.nest > maxNestOfBC {
		return c.fail(true, "an expression that is nested so deep")
	}
	defer func() { c.nest-- }()
	x := c.unary()
	if c.take("^") == "" {
		return x
	}
	y := c.whole(c.power())
	n := new(big.Int).Abs(y)
	if !n.IsInt64() || n.Int64() > maxBits || int64(max(x.n.BitLen()+1, x.scale))*n.Int64() > maxBits {
		return c.fail(true, "a power of so many digits")
	}
	all := decimal{new(big.Int).Exp(x.n, n, nil), x.scale * int(n.Int64())}
	if y.Sign() < 0 {
		if all.n.Sign() == 0 {
			return c.fail(false, "Runtime error (func=(main), adr=3): Divide by zero")
		}
		return c.quotient(decimal{big.NewInt(1), 0}, all, c.scale)
	}
	scale := min(all.scale, max(c.scale, x.scale))
	return decimal{c.aligned(all, scale), scale}
}

// unary evaluates a negation, a parenthesis, a number, a variable or a function.
func (c *calculation) unary() decimal {
	switch {
	case c.take("-") != "":
		if c.nest++; c.nest > maxNestOfBC {
			return c.fail(true, "an expression that is nested so deep")
		}
		defer func() { c.nest-- }()
		x := c.unary()
		return decimal{new(big.Int).Neg(x.n), x.scale}
	case c.take("(") != "":
		x := c.comparison()
		if c.take(")") == "" {
			return c.fail(false, "(standard_in) 1: syntax error")
		}
		return x
	}
	if name := c.word(); name != "" {
		switch {
		case c.take("(") != "":
			if name != "sqrt" && name != "length" && name != "scale" {
				return c.fail(true, name+"()")
			}
			x := c.comparison()
			c.take(")")
			switch {
			case name == "scale":
				return decimal{big.NewInt(int64(x.scale)), 0}
			case name == "length":
				return decimal{big.NewInt(int64(max(len(new(big.Int).Abs(x.n).String()), x.scale))), 0}
			case x.n.Sign() < 0:
				return c.fail(false, "Runtime error (func=(main), adr=4): Square root of a negative number")
			}
			scale := max(c.scale, x.scale)
			return decimal{new(big.Int).Sqrt(c.aligned(x, 2*scale)), scale}
		case slices.Contains(strings.Fields("if while for define print return auto read"), name):
			return c.fail(true, name)
		case name == "scale":
			return decimal{big.NewInt(int64(c.scale)), 0}
		case name == "last":
			return c.last
		}
		if c.blanks(); c.at < len(c.text) && c.text[c.at] == '[' {
			return c.fail(true, "an array")
		}
		if x, some := c.vars[name]; some {
			return x
		}
		return decimal{new(big.Int), 0}
	}
	from := c.at
	for c.at < len(c.text) && (c.text[c.at] >= '0' && c.text[c.at] <= '9' || c.text[c.at] == '.') {
		c.at++
	}
	integer, fraction, _ := strings.Cut(c.text[from:c.at], ".")
	if len(integer) > maxBits/4 {
		return c.fail(true, "a number of so many digits")
	}
	n, ok := new(big.Int).SetString(integer+fraction, 10)
	if !ok || len(fraction) > maxScale {
		return c.fail(c.at < len(c.text), "(standard_in) 1: syntax error")
	}
	return decimal{n, len(fraction)}
}

// show returns a number as bc prints it: without a zero before the point.
func (c *calculation) show(x decimal) string {
	if c.obase != 10 {
		if x.scale > 0 && new(big.Int).Mul(c.whole(x), ten(x.scale)).Cmp(x.n) != 0 {
			return "0"
		}
		return strings.ToUpper(c.whole(x).Text(int(c.obase)))
	}
	text := new(big.Int).Abs(x.n).String()
	if x.scale > 0 {
		text = strings.Repeat("0", max(0, x.scale-len(text))) + text
		text = text[:len(text)-x.scale] + "." + text[len(text)-x.scale:]
	}
	if x.n.Sign() == 0 {
		text = "0"
	} else if x.n.Sign() < 0 {
		text = "-" + text
	}
	var lines []string
	for ; len(text) > 69; text = text[69:] { // an output line has 70 columns
		lines = append(lines, text[:69])
	}
	return strings.Join(append(lines, text), "\\\n")
}
