package posh

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// node is a statement or an expression.
type node any

type (
	assign struct {
		target   node
		operator string
		value    node
	}
	branch struct {
		condition node
		then      []node
		otherwise []node
	}
	loop struct {
		begin, condition, next node
		body                   []node
	}
	each struct {
		name string
		list node
		body []node
	}
	try struct{ body, catch []node }
	// jump is break, continue, return, exit or throw.
	jump struct {
		word  string
		value node
	}
	pipeline struct{ stages []node }
	command  struct {
		name       string
		args       []node
		parameters map[string]node
	}
	variable struct{ name string }
	constant struct{ value any }
	text     struct{ parts []node }
	table    struct{ keys, values []node }
	list     struct{ items []node }
	static   struct{ kind, name string }
	member   struct {
		of   node
		name string
	}
	call struct {
		of   node // member or static
		args []node
	}
	index  struct{ of, at node }
	binary struct {
		operator    string
		left, right node
	}
	negate struct{ of node }
	step   struct {
		target node
		by     int64
	}
)

type parser struct {
	text  string
	at    int
	known func(string) bool
	depth int
}

// maxDepth bounds what is inside each other.
const maxDepth = 100

func (p *parser) fail(format string, a ...any) error {
	return fmt.Errorf("line %d: %s", 1+strings.Count(p.text[:min(p.at, len(p.text))], "\n"), fmt.Sprintf(format, a...))
}

// blank skips blanks and comments, and with lines also the ends of lines.
func (p *parser) blank(lines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t':
			p.at++
		case lines && (c == '\n' || c == ';'):
			p.at++
		case c == '`' && strings.HasPrefix(p.text[p.at:], "`\n"):
			p.at += 2
		case strings.HasPrefix(p.text[p.at:], "<#"):
			end := strings.Index(p.text[p.at:], "#>")
			if end < 0 {
				p.at = len(p.text)
				return
			}
			p.at += end + 2
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// take skips a text that stands next, after blanks.
func (p *parser) take(s string) bool {
	p.blank(false)
	if len(p.text)-p.at < len(s) || !strings.EqualFold(p.text[p.at:p.at+len(s)], s) {
		return false
	}
	p.at += len(s)
	return true
}

// word skips a whole word.
func (p *parser) word(s string) bool {
	p.blank(false)
	end := p.at + len(s)
	if len(p.text) < end || !strings.EqualFold(p.text[p.at:end], s) || end < len(p.text) && isWord(p.text[end]) {
		return false
	}
	p.at = end
	return true
}

func isWord(c byte) bool {
	return c == '_' || c == '-' || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}

func (p *parser) want(s string) error {
	if !p.take(s) {
		return p.fail("%q is expected", s)
	}
	return nil
}

func (p *parser) statements(inBlock bool) ([]node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("the script is nested too deep")
	}
	defer func() { p.depth-- }()
	var out []node
	for {
		p.blank(true)
		if p.at == len(p.text) {
			if inBlock {
				return nil, p.fail("a block is not closed")
			}
			return out, nil
		}
		if p.peek() == '}' && inBlock {
			p.at++
			return out, nil
		}
		n, err := p.statement()
		if err != nil {
			return nil, err
		}
		out = append(out, n)
		p.blank(false)
		if c := p.peek(); c != 0 && c != '\n' && c != ';' && c != '}' {
			return nil, p.fail("a statement does not end where it is expected to")
		}
	}
}

func (p *parser) block() ([]node, error) {
	p.blank(true)
	if err := p.want("{"); err != nil {
		return nil, err
	}
	return p.statements(true)
}

func (p *parser) statement() (node, error) {
	switch {
	case p.word("if"):
		return p.branch()
	case p.word("while"):
		condition, err := p.condition()
		if err != nil {
			return nil, err
		}
		body, err := p.block()
		return loop{condition: condition, body: body}, err
	case p.word("for"):
		return p.loop()
	case p.word("foreach"):
		return p.each()
	case p.word("try"):
		return p.try()
	}
	for _, word := range []string{"break", "continue", "return", "exit", "throw"} {
		if p.word(word) {
			return p.jump(word)
		}
	}
	for _, word := range []string{"function", "param", "switch", "do", "trap", "class", "filter", "begin", "process", "end", "using"} {
		if p.word(word) {
			return nil, p.fail("%s is not simulated", word)
		}
	}
	return p.assignment()
}

func (p *parser) jump(word string) (node, error) {
	p.blank(false)
	if c := p.peek(); c == 0 || c == '\n' || c == ';' || c == '}' {
		return jump{word: word}, nil
	}
	value, err := p.pipeline()
	return jump{word, value}, err
}

func (p *parser) condition() (node, error) {
	if err := p.want("("); err != nil {
		return nil, err
	}
	n, err := p.pipeline()
	if err != nil {
		return nil, err
	}
	return n, p.want(")")
}

func (p *parser) branch() (node, error) {
	condition, err := p.condition()
	if err != nil {
		return nil, err
	}
	b := branch{condition: condition}
	if b.then, err = p.block(); err != nil {
		return nil, err
	}
	from := p.at
	p.blank(true)
	switch {
	case p.word("elseif"):
		n, err := p.branch()
		b.otherwise = []node{n}
		return b, err
	case p.word("else"):
		b.otherwise, err = p.block()
		return b, err
	}
	p.at = from
	return b, nil
}

func (p *parser) loop() (node, error) {
	var l loop
	var err error
	if err = p.want("("); err != nil {
		return nil, err
	}
	if l.begin, err = p.assignment(); err != nil {
		return nil, err
	}
	if err = p.want(";"); err != nil {
		return nil, err
	}
	if l.condition, err = p.pipeline(); err != nil {
		return nil, err
	}
	if err = p.want(";"); err != nil {
		return nil, err
	}
	if l.next, err = p.assignment(); err != nil {
		return nil, err
	}
	if err = p.want(")"); err != nil {
		return nil, err
	}
	l.body, err = p.block()
	return l, err
}

func (p *parser) each() (node, error) {
	if err := p.want("("); err != nil {
		return nil, err
	}
	if err := p.want("$"); err != nil {
		return nil, err
	}
	e := each{name: strings.ToLower(p.name())}
	if !p.word("in") {
		return nil, p.fail("foreach without in")
	}
	var err error
	if e.list, err = p.pipeline(); err != nil {
		return nil, err
	}
	if err = p.want(")"); err != nil {
		return nil, err
	}
	e.body, err = p.block()
	return e, err
}

func (p *parser) try() (node, error) {
	var t try
	var err error
	if t.body, err = p.block(); err != nil {
		return nil, err
	}
	p.blank(true)
	if !p.word("catch") {
		return nil, p.fail("try without catch")
	}
	t.catch, err = p.block()
	return t, err
}

func (p *parser) name() string {
	from := p.at
	for p.at < len(p.text) && (p.text[p.at] == '_' || p.text[p.at] == ':' || unicode.IsLetter(rune(p.text[p.at])) || unicode.IsDigit(rune(p.text[p.at]))) {
		if p.text[p.at] == ':' && strings.HasPrefix(p.text[p.at:], "::") {
			break
		}
		p.at++
	}
	return strings.TrimSuffix(p.text[from:p.at], ":")
}

func (p *parser) assignment() (node, error) {
	left, err := p.pipeline()
	if err != nil {
		return nil, err
	}
	for _, operator := range []string{"+=", "-=", "="} {
		if p.take(operator) {
			switch left.(type) {
			case variable, member, static, index:
			default:
				return nil, p.fail("nothing can be assigned to what stands before =")
			}
			p.blank(true)
			value, err := p.pipeline()
			return assign{left, operator, value}, err
		}
	}
	return left, nil
}

func (p *parser) pipeline() (node, error) {
	first, err := p.stage()
	if err != nil {
		return nil, err
	}
	out := pipeline{[]node{first}}
	for p.take("|") {
		p.blank(true)
		n, err := p.stage()
		if err != nil {
			return nil, err
		}
		if c, ok := n.(command); !ok || c.name != "out-null" && c.name != "out-string" && c.name != "convertfrom-json" && c.name != "write-output" && c.name != "write-host" {
			return nil, p.fail("what stands behind | is not simulated")
		}
		out.stages = append(out.stages, n)
	}
	if len(out.stages) == 1 {
		return first, nil
	}
	return out, nil
}

// stage is a command or an expression.
func (p *parser) stage() (node, error) {
	p.blank(false)
	if c := p.peek(); c == '&' || unicode.IsLetter(rune(c)) {
		return p.command()
	}
	return p.expression(0)
}

func (p *parser) command() (node, error) {
	p.take("&")
	p.blank(false)
	from := p.at
	for p.at < len(p.text) && (isWord(p.text[p.at]) || strings.IndexByte(`.\:/`, p.text[p.at]) >= 0) {
		p.at++
	}
	c := command{name: strings.TrimSuffix(strings.ToLower(p.text[from:p.at]), ".exe"), parameters: map[string]node{}}
	if c.name == "" || !p.known(c.name) {
		return nil, p.fail("the command is not simulated")
	}
	for {
		p.blank(false)
		switch ch := p.peek(); {
		case ch == 0 || strings.IndexByte("\n;|})", ch) >= 0:
			return c, nil
		case ch == '-' && p.at+1 < len(p.text) && unicode.IsLetter(rune(p.text[p.at+1])):
			p.at++
			name := strings.ToLower(p.name())
			if p.peek() == ':' {
				p.at++
			}
			p.blank(false)
			if next := p.peek(); next == 0 || strings.IndexByte("\n;|})", next) >= 0 || next == '-' && p.at+1 < len(p.text) && unicode.IsLetter(rune(p.text[p.at+1])) {
				c.parameters[name] = constant{true}
				continue
			}
			if isSwitch(name) {
				c.parameters[name] = constant{true}
				continue
			}
			value, err := p.argument()
			if err != nil {
				return nil, err
			}
			c.parameters[name] = value
		default:
			value, err := p.argument()
			if err != nil {
				return nil, err
			}
			c.args = append(c.args, value)
		}
	}
}

// isSwitch tells the parameters that take no value.
func isSwitch(name string) bool {
	switch name {
	case "force", "recurse", "usebasicparsing", "nonewline", "append":
		return true
	}
	return false
}

// argument is a value, or a bare word.
func (p *parser) argument() (node, error) {
	if c := p.peek(); strings.IndexByte(`$'"(@[`, c) >= 0 {
		return p.postfix()
	}
	from := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\n;|(){}'\"$", p.text[p.at]) < 0 {
		p.at++
	}
	if from == p.at {
		return nil, p.fail("an argument is expected")
	}
	word := p.text[from:p.at]
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return constant{n}, nil
	}
	return constant{word}, nil
}
