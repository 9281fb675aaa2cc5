package powershell

import "strings"

// levels are the binary operators by precedence, lowest first.
var levels = [][]string{
	{"-and", "-or", "-xor"},
	{"-band", "-bor", "-bxor"},
	{"-eq", "-ne", "-gt", "-ge", "-lt", "-le", "-like", "-notlike", "-match", "-notmatch", "-replace", "-split",
		"-join", "-contains", "-notcontains", "-in", "-notin", "-is", "-isnot", "-as", "-shl", "-shr"},
	{"+", "-"},
	{"*", "/", "%"},
	{"-f"},
	{".."},
}

// folds are the operators that also have a case-sensitive form (-ceq) and an explicitly insensitive form (-ieq).
const folds = " -eq -ne -gt -ge -lt -le -like -notlike -match -notmatch -replace -split -contains -notcontains -in -notin "

// startsExpression reports whether the next token starts an expression, and not a command.
func (p *parser) startsExpression() bool {
	p.spaces()
	c, next := p.peek(), p.ahead(1)
	switch {
	case c == '$' || c == '"' || c == '\'' || c == '(' || c == '[' || c == '{' || c == '!' || c == ',' || c == '+':
		return true
	case c == '@':
		return next == '(' || next == '{' || next == '"' || next == '\''
	case isDigit(c), c == '.' && isDigit(next):
		from := p.pos
		defer func() { p.pos = from }()
		_, ok := p.number()
		return ok
	case c == '-':
		return strings.ContainsRune("- ($['\".", rune(next)) || isDigit(next) || p.unaryWord() != ""
	}
	return false
}

// unaryWord returns the next word if it is a unary operator, such as -not.
func (p *parser) unaryWord() string {
	for _, w := range []string{"-not", "-bnot", "-split", "-csplit", "-isplit", "-join"} {
		from := p.pos
		found := p.keyword(w)
		p.pos = from
		if found {
			return w
		}
	}
	return ""
}

func (p *parser) expression() (node, error) { return p.binary(0, p.list, p.spaces) }

// argumentExpression reads one argument of a method.
func (p *parser) argumentExpression() (node, error) { return p.binary(0, p.unary, p.lines) }

// binary reads operands with operators of a level or a higher level between them. skip skips the blanks before an operator.
func (p *parser) binary(level int, operand func() (node, error), skip func()) (node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if level == len(levels) {
		return operand()
	}
	left, err := p.binary(level+1, operand, skip)
	if err != nil {
		return nil, err
	}
	for {
		from := p.pos
		skip()
		operator := p.operator(level)
		if operator == "" {
			p.pos = from
			return left, nil
		}
		end := p.pos
		if p.lines(); p.pos >= len(p.text) {
			p.pos = end
			return nil, p.fail("You must provide a value expression following the '%s' operator.", operator)
		}
		right, err := p.binary(level+1, operand, skip)
		if err != nil {
			return nil, err
		}
		left = binary{position(left.at()), operator, left, right}
	}
}

// operator skips the next operator if it has the level, and returns it.
func (p *parser) operator(level int) string {
	for _, o := range levels[level] {
		if o[0] != '-' || len(o) == 1 {
			if !p.has(o) {
				continue
			}
			if next := p.ahead(len(o)); next == '=' || o == "*" && next == '>' || o != ".." && next == o[0] || o == "-" && isLetter(next) {
				continue
			}
			p.pos += len(o)
			return o
		}
		if p.keyword(o) {
			return o
		}
		for _, fold := range []string{"i", "c"} {
			if strings.Contains(folds, " "+o+" ") && p.keyword("-"+fold+o[1:]) {
				return map[string]string{"i": o, "c": "-c" + o[1:]}[fold]
			}
		}
	}
	return ""
}

// list reads operands with commas between them.
func (p *parser) list() (node, error) { return p.joined(p.unary) }

// joined reads values with commas between them. It returns an array, or the value itself if there is only one.
func (p *parser) joined(value func() (node, error)) (node, error) {
	from := position(p.pos)
	first, err := value()
	if err != nil {
		return nil, err
	}
	items := []node{first}
	for {
		end := p.pos
		p.spaces()
		if p.peek() != ',' {
			p.pos = end
			break
		}
		p.pos++
		p.lines()
		n, err := value()
		if err != nil {
			return nil, err
		}
		items = append(items, n)
	}
	if len(items) == 1 {
		return first, nil
	}
	return arrayLiteral{from, items}, nil
}

// unary reads an operand with its unary operators.
func (p *parser) unary() (node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	p.spaces()
	from := position(p.pos)
	c, next := p.peek(), p.ahead(1)
	switch {
	case c == ',':
		p.pos++
		of, err := p.unary()
		return arrayLiteral{from, []node{of}}, err
	case c == '!':
		return p.operand(from, "-not", 1)
	case p.has("++"), p.has("--"):
		by := map[byte]int64{'+': 1, '-': -1}[c]
		p.pos += 2
		of, err := p.unary()
		return step{from, of, by, true}, err
	case c == '-' && (isDigit(next) || next == '.' && isDigit(p.ahead(2))):
		if n, ok := p.number(); ok {
			return p.postfix(n, true)
		}
		return p.operand(from, "-", 1)
	case c == '+' || c == '-' && p.unaryWord() == "" && !isLetter(next):
		return p.operand(from, string(c), 1)
	case c == '-':
		if w := p.unaryWord(); w != "" {
			return p.operand(from, w, len(w))
		}
	case c == '[':
		return p.bracket()
	}
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	return p.postfix(n, true)
}

func (p *parser) operand(from position, operator string, size int) (node, error) {
	p.pos += size
	p.lines()
	of, err := p.unary()
	return unary{from, operator, of}, err
}

// bracket reads a cast, a type with its members, or a validation attribute with its expression.
func (p *parser) bracket() (node, error) {
	from := position(p.pos)
	if a, err := p.attribute(); err != nil {
		return nil, err
	} else if a != nil {
		one := parameter{}
		if err := p.apply(&one, a); err != nil {
			return nil, err
		}
		p.lines()
		of, err := p.unary()
		if err == nil && (one.validators == nil || !assignable(of)) {
			err = p.missing("an attribute of an expression")
		}
		return validated{from, one.validators, of}, err
	}
	name, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if p.has("::") {
		return p.postfix(typeLiteral{from, name}, true)
	}
	end := p.pos
	p.spaces()
	c := p.peek()
	if c == '$' || c == '"' || c == '\'' || c == '(' || c == '@' || c == '[' || isDigit(c) || c == '{' ||
		c == '-' && (isDigit(p.ahead(1)) || p.unaryWord() != "") || c == '!' {
		of, err := p.unary()
		return cast{from, name, of}, err
	}
	p.pos = end
	return p.postfix(typeLiteral{from, name}, true)
}

// typeName reads [Name]. It returns the name in lower case and without System.
func (p *parser) typeName() (string, error) {
	depth, from := 0, p.pos
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '[':
			depth++
		case c == ']':
			if depth--; depth == 0 {
				p.pos++
				return typeKey(p.text[from+1 : p.pos-1]), nil
			}
		case isLetter(c) || isDigit(c) || c == '.' || c == ',' || c == ' ' || c == '`' || c == '+':
		default:
			return "", p.fail("Missing type name after '['.")
		}
	}
	return "", p.expected("]")
}

func typeKey(name string) string {
	name = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), " ", ""))
	name = strings.ReplaceAll(name, "[system.", "[")
	return strings.TrimPrefix(name, "system.")
}

// primary reads an operand without operators and members.
func (p *parser) primary() (node, error) {
	p.spaces()
	from := position(p.pos)
	switch c := p.peek(); {
	case c == '$' && p.ahead(1) == '(':
		p.pos += 2
		body, err := p.statements(')')
		return subexpression{from, body, false}, err
	case c == '$':
		return p.variable()
	case c == '"' || c == '\'':
		return p.quoted()
	case p.has("@\""), p.has("@'"):
		return p.hereString()
	case p.has("@("):
		p.pos += 2
		body, err := p.statements(')')
		return subexpression{from, body, true}, err
	case p.has("@{"):
		return p.hash()
	case c == '(':
		p.pos++
		p.lines()
		body, err := p.statement()
		if err != nil {
			return nil, err
		}
		return parenthesis{from, body}, p.want(')')
	case c == '{':
		return p.scriptBlock()
	case isDigit(c) || c == '.' || c == '-':
		if n, ok := p.number(); ok {
			return n, nil
		}
	case p.pos >= len(p.text):
		return nil, p.fail("You must provide a value expression at the end of the script.")
	}
	return nil, p.fail("You must provide a value expression here.")
}

// postfix reads members, indexes and calls after an expression. Within the arguments of a command, a blank ends them.
func (p *parser) postfix(n node, expression bool) (node, error) {
	for depth := 0; ; depth++ {
		if depth > 4*maxDepth {
			return nil, p.fail("a chain of members is longer than %d (a bound of the simulation)", 4*maxDepth)
		}
		from := position(n.at())
		switch c, next := p.peek(), p.ahead(1); {
		case p.has("::"),
			c == '.' && next != '.' && (isLetter(next) || isDigit(next) || next == '$' || next == '"' || next == '\'' || next == '('),
			c == '.' && expression && p.continues():
			static := c == ':'
			p.pos += map[bool]int{true: 2, false: 1}[static]
			if expression {
				p.lines() // a member may be on the next line
			}
			var err error
			if n, err = p.member(n, from, static); err != nil {
				return nil, err
			}
		case c == '[':
			p.pos++
			p.lines()
			by, err := p.expression()
			if err != nil {
				return nil, err
			}
			if err := p.want(']'); err != nil {
				return nil, err
			}
			n = index{from, n, by}
		case expression && (p.has("++") || p.has("--")) && assignable(n):
			p.pos += 2
			n = step{from, n, map[byte]int64{'+': 1, '-': -1}[c], false}
		default:
			return n, nil
		}
	}
}

// continues reports whether a dot, blanks or line ends, and a member's name follow.
func (p *parser) continues() bool {
	from := p.pos
	defer func() { p.pos = from }()
	p.pos++
	if c := p.peek(); c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		return false
	}
	p.lines()
	return isLetter(p.peek())
}

// member reads a member's name, and a call's arguments in parentheses.
func (p *parser) member(of node, from position, static bool) (node, error) {
	var name node
	var err error
	switch c := p.peek(); {
	case c == '$' || c == '"' || c == '\'' || c == '(':
		name, err = p.primary()
	case isDigit(c): // the key of a hashtable
		start := p.pos
		n, ok := p.digits()
		if !ok {
			return nil, p.fail("The numeric constant %s is not valid.", p.text[start:p.pos])
		}
		name = constant{from, n, text(n)}
	default:
		word := p.identifier()
		if word == "" {
			return nil, p.fail("Missing property name after reference operator.")
		}
		name = constant{from, word, word}
	}
	if err == nil && p.peek() == '{' { // a script block as the only argument needs no parentheses
		block, err := p.scriptBlock()
		return invocation{position: from, of: of, name: name, static: static, args: []node{block}}, err
	}
	if err != nil || p.peek() != '(' {
		return member{from, of, name, static}, err
	}
	p.pos++
	call := invocation{position: from, of: of, name: name, static: static}
	for {
		p.lines()
		if p.peek() == ')' {
			p.pos++
			return call, nil
		}
		arg, err := p.argumentExpression()
		if err != nil {
			return nil, err
		}
		call.args = append(call.args, arg)
		p.lines()
		switch p.peek() {
		case ',':
			p.pos++
		case ')':
		default:
			return nil, p.expected(")")
		}
	}
}

func (p *parser) scriptBlock() (node, error) {
	from := p.pos
	p.pos++
	b, err := p.block('}')
	if err != nil {
		return nil, err
	}
	return scriptBlock{position(from), b, p.text[from+1 : p.pos-1]}, nil
}

// hash reads @{ key = value; ... }.
func (p *parser) hash() (node, error) {
	h := hashLiteral{position: position(p.pos)}
	p.pos += 2
	for {
		p.separators()
		if p.peek() == '}' {
			p.pos++
			return h, nil
		}
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		if c, ok := key.(constant); ok {
			for _, other := range h.keys {
				if o, ok := other.(constant); ok && hashKey(o.value) == hashKey(c.value) {
					p.pos = c.at()
					return nil, p.fail("Duplicate keys '%s' are not allowed in hash literals.", text(c.value))
				}
			}
		}
		p.spaces()
		if p.peek() != '=' {
			return nil, p.fail("Missing '=' operator after key in hash literal.")
		}
		p.pos++
		if p.lines(); p.peek() == '}' {
			return nil, p.fail("Missing statement after '=' in hash literal.")
		}
		value, err := p.statement()
		if err != nil {
			return nil, err
		}
		h.keys, h.values = append(h.keys, key), append(h.values, value)
		p.spaces()
		if c := p.peek(); c != '}' && c != ';' && c != '\n' && c != '\r' {
			return nil, p.fail("The hash literal was incomplete.")
		}
	}
}

// key reads a key of a hashtable literal.
func (p *parser) key() (node, error) {
	from := p.pos
	if isLetter(p.peek()) {
		for p.pos < len(p.text) && (isLetter(p.text[p.pos]) || isDigit(p.text[p.pos]) || p.text[p.pos] == '-' || p.text[p.pos] == '.') {
			p.pos++
		}
		word := p.text[from:p.pos]
		return constant{position(from), word, word}, nil
	}
	return p.unary()
}
