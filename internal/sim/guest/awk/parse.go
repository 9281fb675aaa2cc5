package awk

import (
	"fmt"
	"slices"
	"strconv"
)

// node is an expression or a statement, with its kind, text and operands.
type node struct {
	op    string
	text  string
	num   float64
	parts []*node
}

type rule struct {
	from, to *node
	body     *node
	active   bool
}

type definition struct {
	params []string
	body   *node
}

// Program is a parsed program.
type Program struct {
	begin, end []*node
	rules      []*rule
	functions  map[string]*definition
}

type parser struct {
	tokens []token
	at     int
	// noIn and noGreater are set where in and > are not operators.
	noIn, noGreater bool
	depth           int
}

// syntaxProblem is the panic that ends parsing.
type syntaxProblem struct{ err error }

// Parse parses a program.
func Parse(src string) (p *Program, err error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case syntaxProblem:
			p, err = nil, e.err
		default:
			panic(e)
		}
	}()
	ps := &parser{tokens: tokens}
	p = &Program{functions: map[string]*definition{}}
	for ps.skipLines(); ps.peek().kind != end; ps.skipLines() {
		ps.item(p)
	}
	return p, nil
}

func (p *parser) fail(format string, a ...any) {
	panic(syntaxProblem{fmt.Errorf("syntax error: "+format, a...)})
}

func (p *parser) unsupported(what string) { panic(syntaxProblem{Unsupported(what)}) }

// peek returns the next token; after the last token, the end.
func (p *parser) peek() token { return p.tokens[min(p.at, len(p.tokens)-1)] }

func (p *parser) is(s string) bool {
	t := p.peek()
	return (t.kind == symbol || t.kind == word) && t.text == s
}

func (p *parser) take(s string) bool {
	if p.is(s) {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(s string) {
	if !p.take(s) {
		p.fail("%q where %q is expected", p.peek().text, s)
	}
}

// named reads the name of a function or variable.
func (p *parser) named() string {
	t := p.peek()
	if t.kind != name && t.kind != function {
		p.fail("%q where a name is expected", t.text)
	}
	p.at++
	return t.text
}

func (p *parser) skipLines() {
	for p.peek().kind == newline || p.is(";") {
		p.at++
	}
}

func (p *parser) lines() {
	for p.peek().kind == newline {
		p.at++
	}
}

// item parses a BEGIN, an END, a function or a rule.
func (p *parser) item(prog *Program) {
	switch {
	case p.take("BEGIN"):
		prog.begin = append(prog.begin, p.block())
	case p.take("END"):
		prog.end = append(prog.end, p.block())
	case p.take("function"), p.take("func"):
		fname := p.named()
		p.want("(")
		d := &definition{}
		for !p.take(")") {
			d.params = append(d.params, p.named())
			p.take(",")
		}
		p.lines()
		d.body = p.block()
		prog.functions[fname] = d
	default:
		r := &rule{}
		if !p.is("{") {
			r.from = p.expr()
			if p.take(",") {
				p.lines()
				r.to = p.expr()
			}
		}
		if p.is("{") {
			r.body = p.block()
		}
		prog.rules = append(prog.rules, r)
	}
}

func (p *parser) block() *node {
	p.want("{")
	if p.depth++; p.depth > 100 {
		p.fail("nested too deep")
	}
	b := &node{op: "block"}
	for p.skipLines(); !p.take("}"); p.skipLines() {
		if p.peek().kind == end {
			p.fail("the program ends amid a block")
		}
		b.parts = append(b.parts, p.statement())
	}
	p.depth--
	return b
}

// body returns the statement that an if or a loop runs.
func (p *parser) body() *node {
	p.lines()
	if p.take(";") {
		return &node{op: "block"}
	}
	return p.statement()
}

func (p *parser) statement() *node {
	switch {
	case p.is("{"):
		return p.block()
	case p.take("if"):
		p.want("(")
		n := &node{op: "if", parts: []*node{p.expr()}}
		p.want(")")
		n.parts = append(n.parts, p.body())
		mark := p.at
		p.skipLines()
		if p.take("else") {
			n.parts = append(n.parts, p.body())
		} else {
			p.at = mark
		}
		return n
	case p.take("while"):
		p.want("(")
		n := &node{op: "while", parts: []*node{p.expr()}}
		p.want(")")
		n.parts = append(n.parts, p.body())
		return n
	case p.take("do"):
		body := p.body()
		p.skipLines()
		p.want("while")
		p.want("(")
		n := &node{op: "do", parts: []*node{p.expr(), body}}
		p.want(")")
		return n
	case p.take("for"):
		return p.loop()
	}
	n := p.simple()
	if t := p.peek(); t.kind != newline && t.kind != end && !p.is(";") && !p.is("}") {
		p.fail("unexpected %q", t.text)
	}
	return n
}

// loop parses the rest of a for loop, of either form.
func (p *parser) loop() *node {
	p.want("(")
	if t := p.tokens[p.at:]; len(t) > 4 && t[0].kind == name && t[1].text == "in" && t[2].kind == name && t[3].text == ")" {
		p.at += 4
		return &node{op: "forin", text: t[0].text, parts: []*node{{op: "name", text: t[2].text}, p.body()}}
	}
	n := &node{op: "for", parts: make([]*node, 4)}
	if !p.is(";") {
		n.parts[0] = p.simple()
	}
	p.want(";")
	p.lines()
	if !p.is(";") {
		n.parts[1] = p.expr()
	}
	p.want(";")
	p.lines()
	if !p.is(")") {
		n.parts[2] = p.simple()
	}
	p.want(")")
	n.parts[3] = p.body()
	return n
}

// simple parses a statement without a body.
func (p *parser) simple() *node {
	t := p.peek()
	if t.kind != word {
		return &node{op: "expr", parts: []*node{p.expr()}}
	}
	switch t.text {
	case "print", "printf":
		return p.printing()
	case "next", "break", "continue":
		p.at++
		return &node{op: t.text}
	case "exit", "return":
		p.at++
		n := &node{op: t.text}
		if e := p.peek(); e.kind != newline && e.kind != end && !p.is(";") && !p.is("}") {
			n.parts = append(n.parts, p.expr())
		}
		return n
	case "delete":
		p.at++
		return &node{op: "delete", parts: []*node{p.primary()}}
	case "nextfile":
		p.unsupported(t.text)
	}
	return &node{op: "expr", parts: []*node{p.expr()}}
}

// printing parses print or printf with its redirection.
func (p *parser) printing() *node {
	n := &node{op: p.peek().text, parts: []*node{nil}}
	p.at++
	before := p.noGreater
	p.noGreater = true
	if p.is("(") && p.closesStatement() {
		p.at++
		p.noGreater = false
		n.parts = append(n.parts, p.list(")")...)
		p.noGreater = true
	} else if t := p.peek(); t.kind != newline && t.kind != end && !p.is(";") && !p.is("}") && !p.is(">") && !p.is(">>") && !p.is("|") {
		n.parts = append(n.parts, p.expr())
		for p.take(",") {
			p.lines()
			n.parts = append(n.parts, p.expr())
		}
	}
	for _, op := range []string{">", ">>", "|"} {
		if p.take(op) {
			n.text = op
			n.parts[0] = p.concatenation()
		}
	}
	p.noGreater = before
	return n
}

// closesStatement reports whether the parenthesis that opens here contains all arguments of print: the statement ends
// after it.
func (p *parser) closesStatement() bool {
	depth := 0
	for i := p.at; i < len(p.tokens); i++ {
		switch t := p.tokens[i]; {
		case t.kind == symbol && t.text == "(":
			depth++
		case t.kind == symbol && t.text == ")":
			if depth--; depth == 0 {
				next := p.tokens[i+1]
				return next.kind == newline || next.kind == end ||
					next.kind == symbol && slices.Contains([]string{";", "}", ">", ">>", "|"}, next.text)
			}
		}
	}
	return false
}

func (p *parser) list(close string) (out []*node) {
	for !p.take(close) {
		p.lines()
		out = append(out, p.expr())
		p.lines()
		if !p.take(",") && !p.is(close) || p.before(",") && p.is(close) {
			p.fail("%q in a list", p.peek().text)
		}
	}
	return out
}

// before reports whether the last token was the given symbol.
func (p *parser) before(symbolText string) bool {
	t := p.tokens[max(min(p.at, len(p.tokens))-1, 0)]
	return t.kind == symbol && t.text == symbolText
}

// arguments are the least and the greatest number of arguments of each built-in function.
var arguments = map[string][2]int{
	"length": {0, 1}, "substr": {2, 3}, "index": {2, 2}, "split": {2, 3}, "sub": {2, 3}, "gsub": {2, 3}, "match": {2, 2},
	"sprintf": {1, 1 << 10}, "toupper": {1, 1}, "tolower": {1, 1}, "int": {1, 1}, "sqrt": {1, 1}, "exp": {1, 1}, "log": {1, 1},
	"sin": {1, 1}, "cos": {1, 1}, "atan2": {2, 2}, "close": {1, 2},
}

// call returns a call after it has checked the number of its arguments.
func (p *parser) call(name string) *node {
	parts := p.list(")")
	if n, built := arguments[name]; built {
		if len(parts) < n[0] || len(parts) > n[1] {
			p.fail("%d arguments of %s", len(parts), name)
		}
		if name == "split" && parts[1].op != "name" {
			p.fail("split into what is no array")
		}
	}
	return &node{op: "call", text: name, parts: parts}
}

func (p *parser) expr() *node {
	if p.depth++; p.depth > 200 {
		p.fail("nested too deep")
	}
	defer func() { p.depth-- }()
	left := p.ternary()
	if t := p.peek(); t.kind == symbol && slices.Contains([]string{"=", "+=", "-=", "*=", "/=", "%=", "^=", "**="}, t.text) {
		if left.op != "name" && left.op != "field" && left.op != "index" {
			p.fail("assignment to what is no variable")
		}
		p.at++
		p.lines()
		return &node{op: "assign", text: t.text[:len(t.text)-1], parts: []*node{left, p.expr()}}
	}
	return left
}

func (p *parser) ternary() *node {
	cond := p.binary(0)
	if !p.take("?") {
		return cond
	}
	p.lines()
	yes := p.ternaryPart()
	p.lines()
	p.want(":")
	p.lines()
	return &node{op: "?", parts: []*node{cond, yes, p.ternaryPart()}}
}

func (p *parser) ternaryPart() *node { return p.expr() }

// levels are the binary operators by precedence, the weakest first.
var levels = [][]string{{"||"}, {"&&"}, {"in"}, {"~", "!~"}, {"<", "<=", "==", "!=", ">", ">=", "|"}}

func (p *parser) binary(level int) *node {
	if level == len(levels) {
		return p.concatenation()
	}
	left := p.binary(level + 1)
	for {
		t := p.peek()
		if t.kind != symbol && t.kind != word || !slices.Contains(levels[level], t.text) ||
			t.text == ">" && p.noGreater || t.text == "in" && p.noIn {
			return left
		}
		if t.text == "|" {
			if p.tokens[p.at+1].text != "getline" {
				return left
			}
			p.at += 2
			left = &node{op: "getline", text: "|", parts: []*node{p.target(), left}}
			continue
		}
		p.at++
		p.lines()
		left = &node{op: t.text, parts: []*node{left, p.binary(level + 1)}}
	}
}

func (p *parser) concatenation() *node {
	left := p.additive()
	for {
		t := p.peek()
		starts := t.kind == number || t.kind == text || t.kind == name || t.kind == function ||
			t.kind == symbol && slices.Contains([]string{"$", "!", "(", "-", "+", "++", "--"}, t.text)
		if !starts || t.text == "in" {
			return left
		}
		left = &node{op: "concat", parts: []*node{left, p.additive()}}
	}
}

func (p *parser) additive() *node {
	left := p.multiplicative()
	for p.is("+") || p.is("-") {
		op := p.peek().text
		p.at++
		left = &node{op: op, parts: []*node{left, p.multiplicative()}}
	}
	return left
}

func (p *parser) multiplicative() *node {
	left := p.unary()
	for p.is("*") || p.is("/") || p.is("%") {
		op := p.peek().text
		p.at++
		left = &node{op: op, parts: []*node{left, p.unary()}}
	}
	return left
}

func (p *parser) unary() *node {
	for _, op := range []string{"!", "-", "+"} {
		if p.take(op) {
			return &node{op: "unary" + op, parts: []*node{p.unary()}}
		}
	}
	return p.power()
}

func (p *parser) power() *node {
	left := p.postfix()
	if p.take("^") || p.take("**") {
		return &node{op: "^", parts: []*node{left, p.unary()}}
	}
	return left
}

func (p *parser) postfix() *node {
	for _, op := range []string{"++", "--"} {
		if p.take(op) {
			return &node{op: "pre" + op, parts: []*node{p.primary()}}
		}
	}
	n := p.primary()
	if n.op == "name" || n.op == "field" || n.op == "index" {
		for _, op := range []string{"++", "--"} {
			if p.take(op) {
				return &node{op: "post" + op, parts: []*node{n}}
			}
		}
	}
	return n
}

func (p *parser) primary() *node {
	t := p.peek()
	p.at++
	switch t.kind {
	case number:
		n, _ := strconv.ParseFloat(t.text, 64)
		return &node{op: "number", num: n}
	case text:
		return &node{op: "text", text: t.text}
	case pattern:
		return &node{op: "pattern", text: t.text}
	case function:
		p.want("(")
		return p.call(t.text)
	case name:
		if p.take("[") {
			parts := p.list("]")
			if len(parts) == 0 {
				p.fail("an index without a value")
			}
			return &node{op: "index", text: t.text, parts: parts}
		}
		if t.text == "length" {
			return &node{op: "call", text: t.text}
		}
		return &node{op: "name", text: t.text}
	case word:
		if t.text == "getline" {
			read := &node{op: "getline", parts: []*node{p.target(), nil}}
			if p.take("<") {
				read.text, read.parts[1] = "<", p.primary()
			}
			return read
		}
	case symbol:
		switch t.text {
		case "$":
			if p.is("++") || p.is("--") || p.is("-") {
				return &node{op: "field", parts: []*node{p.unary()}}
			}
			return &node{op: "field", parts: []*node{p.primary()}}
		case "(":
			return p.group()
		}
	}
	p.fail("unexpected %q", t.text)
	return nil
}

// target returns the variable that getline reads into, or nil for the record.
func (p *parser) target() *node {
	if t := p.peek(); t.kind == name || t.kind == symbol && t.text == "$" {
		return p.primary()
	}
	return nil
}

// group returns an expression in parentheses, or the subscripts of "(i, j) in array".
func (p *parser) group() *node {
	noGreater, noIn := p.noGreater, p.noIn
	p.noGreater, p.noIn = false, false
	list := p.list(")")
	p.noGreater, p.noIn = noGreater, noIn
	switch len(list) {
	case 0:
		p.fail("empty parentheses")
	case 1:
		return &node{op: "group", parts: list}
	}
	return &node{op: "list", parts: list}
}
