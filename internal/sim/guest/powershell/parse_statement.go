package powershell

import "strings"

// unknownStatements are the keywords of statements that are not simulated, with the names that errors show.
var unknownStatements = map[string]string{
	"class": "classes", "enum": "enumerations", "workflow": "workflows", "configuration": "configurations", "data": "data sections",
	"parallel": "workflows", "sequence": "workflows", "inlinescript": "workflows",
	"dynamicparam": "dynamic parameters", "define": "define", "from": "from", "var": "var",
}

func (p *parser) statement() (node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	label := p.label()
	from := position(p.pos)
	word := p.word()
	if what, ok := unknownStatements[word]; ok && p.declares(word) {
		return nil, p.missing(what)
	}
	switch word {
	case "if":
		p.pos += len(word)
		return p.conditional(from)
	case "while":
		p.pos += len(word)
		l := loop{position: from, label: label}
		var err error
		if l.condition, err = p.condition("while"); err == nil {
			l.body, err = p.braces()
		}
		return l, err
	case "do":
		if p.braceFollows() {
			p.pos += len(word)
			return p.do(from, label)
		}
	case "for":
		p.pos += len(word)
		return p.forLoop(from, label)
	case "foreach":
		if p.opens() {
			p.pos += len(word)
			return p.foreach(from, label)
		}
	case "switch":
		p.pos += len(word)
		return p.switchStatement(from, label)
	case "function", "filter":
		p.pos += len(word)
		return p.function(from, word == "filter")
	case "try":
		p.pos += len(word)
		if p.lines(); p.peek() != '{' {
			return nil, p.fail("The Try statement is missing its statement block.")
		}
		return p.try(from)
	case "break", "continue", "return", "exit", "throw":
		p.pos += len(word)
		return p.jump(from, word)
	case "using":
		return p.using(from)
	}
	return p.assignment()
}

// declares reports whether a keyword starts a declaration, and is not the name of a command.
func (p *parser) declares(word string) bool {
	from := p.pos
	defer func() { p.pos = from }()
	p.pos += len(word)
	if !strings.ContainsRune(" \t{\r\n", rune(p.peek())) {
		return false
	}
	p.lines()
	return p.peek() == '{' || isLetter(p.peek())
}

// opens reports whether a parenthesis follows the next word.
func (p *parser) opens() bool {
	from := p.pos
	defer func() { p.pos = from }()
	p.identifier()
	p.lines()
	return p.peek() == '('
}

// label skips the label of a loop, such as :name, and returns the name.
func (p *parser) label() string {
	if p.peek() != ':' || !isLetter(p.ahead(1)) {
		return ""
	}
	p.pos++
	name := strings.ToLower(p.identifier())
	p.lines()
	return name
}

// using skips a using namespace statement. The simulation finds types without it.
func (p *parser) using(from position) (node, error) {
	p.pos += len("using")
	p.spaces()
	if !p.keyword("namespace") {
		return nil, p.missing("using other than using namespace")
	}
	for c := p.peek(); c != 0 && c != '\n' && c != ';'; c = p.peek() {
		p.pos++
	}
	return pipeline{position: from}, nil
}

// condition reads a pipeline in parentheses after a keyword.
func (p *parser) condition(word string) (node, error) {
	p.lines()
	if p.peek() != '(' {
		return nil, p.fail("Missing opening '(' after keyword '%s'.", word)
	}
	p.pos++
	end := p.pos
	if p.lines(); p.pos >= len(p.text) || p.peek() == ')' {
		p.pos = end
		if word == "if" || word == "elseif" {
			return nil, p.fail("Missing condition in if statement after '%s ('.", word)
		}
		return nil, p.fail("Missing expression after '%s' in loop.", word)
	}
	n, err := p.statement()
	if err != nil {
		return nil, err
	}
	end = p.pos
	if p.lines(); p.pos >= len(p.text) {
		p.pos = end
		return nil, p.fail("Missing closing ')' after expression in '%s' statement.", word)
	}
	return n, p.want(')')
}

func (p *parser) conditional(from position) (node, error) {
	c := conditional{position: from}
	word := "if"
	for {
		condition, err := p.condition(word)
		if err != nil {
			return nil, err
		}
		if p.lines(); p.peek() != '{' {
			return nil, p.fail("Missing statement block after %s ( condition ).", word)
		}
		body, err := p.braces()
		if err != nil {
			return nil, err
		}
		c.conditions, c.bodies = append(c.conditions, condition), append(c.bodies, body)
		end := p.pos
		p.lines()
		if p.keyword("elseif") {
			word = "elseif"
			continue
		}
		if p.keyword("else") {
			p.lines()
			c.otherwise, err = p.braces()
			return c, err
		}
		p.pos = end
		return c, nil
	}
}

func (p *parser) do(from position, label string) (node, error) {
	body, err := p.braces()
	if err != nil {
		return nil, err
	}
	l := loop{position: from, label: label, body: body, first: true}
	p.lines()
	word := "while"
	switch {
	case p.keyword("while"):
	case p.keyword("until"):
		l.negative, word = true, "until"
	default:
		return nil, p.fail("Missing while or until keyword in do loop.")
	}
	l.condition, err = p.condition(word)
	return l, err
}

func (p *parser) forLoop(from position, label string) (node, error) {
	l := loop{position: from, label: label}
	if err := p.want('('); err != nil {
		return nil, err
	}
	for i, into := range []*node{&l.begin, &l.condition, &l.next} {
		p.lines()
		if c := p.peek(); c != ';' && c != ')' {
			n, err := p.statement()
			if err != nil {
				return nil, err
			}
			*into = n
		}
		p.lines()
		if p.peek() == ';' && i < 2 {
			p.pos++
		}
	}
	if err := p.want(')'); err != nil {
		return nil, err
	}
	body, err := p.braces()
	l.body = body
	return l, err
}

func (p *parser) foreach(from position, label string) (node, error) {
	if err := p.want('('); err != nil {
		return nil, err
	}
	p.lines()
	const form = "\nThe correct form is: foreach ($a in $b) {...}"
	if p.peek() != '$' {
		return nil, p.fail("Missing variable name after foreach." + form)
	}
	v, err := p.variable()
	if err != nil {
		return nil, err
	}
	name, ok := v.(variable)
	p.lines()
	if !ok || !p.keyword("in") {
		return nil, p.fail("Missing 'in' after variable in foreach loop." + form)
	}
	if p.lines(); p.pos >= len(p.text) || p.peek() == ')' {
		return nil, p.fail("Missing expression in foreach loop." + form)
	}
	list, err := p.statement()
	if err != nil {
		return nil, err
	}
	if p.lines(); p.pos >= len(p.text) {
		return nil, p.fail("Missing closing ')' after expression part of foreach loop." + form)
	}
	if err := p.want(')'); err != nil {
		return nil, err
	}
	body, err := p.braces()
	return foreachLoop{position: from, label: label, name: name.name, list: list, body: body}, err
}

func (p *parser) switchStatement(from position, label string) (node, error) {
	s := switchStatement{position: from, label: label}
	for p.lines(); p.peek() == '-'; p.lines() {
		p.pos++
		switch flag := strings.ToLower(p.identifier()); flag {
		case "regex", "wildcard", "exact":
			s.mode = flag
		case "casesensitive":
			s.exact = true
		case "file":
			s.file = true
			p.spaces()
			value, err := p.argumentValue()
			if err != nil {
				return nil, err
			}
			s.value = value
		default:
			return nil, p.missing("switch -" + flag)
		}
	}
	if s.value == nil {
		value, err := p.condition("switch")
		if err != nil {
			return nil, err
		}
		s.value = value
	}
	if p.lines(); p.peek() != '{' {
		return nil, p.fail("Missing '{' in switch statement.")
	}
	p.pos++
	for {
		p.separators()
		if p.peek() == '}' {
			p.pos++
			return s, nil
		}
		if p.keyword("default") {
			body, err := p.braces()
			if err != nil {
				return nil, err
			}
			s.fallback = append(s.fallback, body...)
			continue
		}
		pattern, err := p.argumentValue()
		if err != nil {
			return nil, err
		}
		if p.lines(); p.peek() != '{' {
			return nil, p.fail("Missing statement block in switch statement clause.")
		}
		body, err := p.braces()
		if err != nil {
			return nil, err
		}
		s.patterns, s.bodies = append(s.patterns, pattern), append(s.bodies, body)
	}
}

func (p *parser) try(from position) (node, error) {
	t := tryStatement{position: from}
	var err error
	if t.body, err = p.braces(); err != nil {
		return nil, err
	}
	for {
		end := p.pos
		p.lines()
		switch {
		case p.keyword("catch"):
			c := catchClause{}
			for p.lines(); p.peek() == '['; p.lines() {
				kind, err := p.typeName()
				if err != nil {
					return nil, err
				}
				c.kinds = append(c.kinds, kind)
				p.lines()
				if p.peek() == ',' {
					p.pos++
				}
			}
			if c.body, err = p.braces(); err != nil {
				return nil, err
			}
			t.catches = append(t.catches, c)
		case p.keyword("finally"):
			t.finally, err = p.braces()
			return t, err
		default:
			p.pos = end
			if t.catches == nil {
				return nil, p.fail("The Try statement is missing its Catch or Finally block.")
			}
			return t, nil
		}
	}
}

func (p *parser) jump(from position, word string) (node, error) {
	p.spaces()
	j := jump{position: from, word: word}
	c := p.peek()
	if p.pos >= len(p.text) || c == '\n' || c == '\r' || c == ';' || c == '}' || c == ')' {
		return j, nil
	}
	if word == "break" || word == "continue" {
		if !isLetter(c) {
			return nil, p.missing("a computed label of " + word)
		}
		j.label = strings.ToLower(p.identifier())
		return j, nil
	}
	value, err := p.statement()
	j.value = value
	return j, err
}

// assignment reads a pipeline, or an assignment of a statement's output to a target.
func (p *parser) assignment() (node, error) {
	from := position(p.pos)
	if !p.startsExpression() {
		return p.pipeline(nil)
	}
	left, err := p.expression()
	if err != nil {
		return nil, err
	}
	p.spaces()
	for _, operator := range []string{"+=", "-=", "*=", "/=", "%=", "="} {
		if !p.has(operator) {
			continue
		}
		if !assignable(left) {
			return nil, p.fail("The assignment expression is not valid. The input to an assignment operator " +
				"must be an object that is able to accept assignments, such as a variable or a property.")
		}
		p.pos += len(operator)
		end := p.pos
		if p.lines(); p.pos >= len(p.text) {
			p.pos = end
			return nil, p.fail("You must provide a value expression following the '%s' operator.", operator)
		}
		value, err := p.statement()
		return assignment{from, left, operator, value}, err
	}
	return p.pipeline(left)
}

// assignable reports whether a node can be the target of an assignment.
func assignable(n node) bool {
	switch n := n.(type) {
	case variable, member, index:
		return true
	case cast:
		return assignable(n.of)
	case validated:
		return assignable(n.of)
	case parenthesis:
		return assignable(n.body)
	case arrayLiteral:
		for _, item := range n.items {
			if !assignable(item) {
				return false
			}
		}
		return true
	}
	return false
}

// pipeline reads the stages of a pipeline. first is an expression that has been read, or nil.
func (p *parser) pipeline(first node) (node, error) {
	out := pipeline{position: position(p.pos)}
	if first == nil {
		n, err := p.stage()
		if err != nil {
			return nil, err
		}
		first = n
	} else {
		rs, err := p.redirects()
		if err != nil {
			return nil, err
		}
		if rs != nil {
			first = redirected{position(first.at()), first, rs}
		}
	}
	out.position = position(first.at())
	out.stages = append(out.stages, first)
	for {
		p.spaces()
		if p.peek() != '|' || p.has("||") {
			break
		}
		p.pos++
		p.lines()
		if p.pos >= len(p.text) {
			return nil, p.fail("An empty pipe element is not allowed.")
		}
		n, err := p.stage()
		if err != nil {
			return nil, err
		}
		if _, ok := n.(command); !ok {
			return nil, p.fail("Expressions are only allowed as the first element of a pipeline.")
		}
		out.stages = append(out.stages, n)
	}
	if len(out.stages) == 1 {
		return out.stages[0], nil
	}
	return out, nil
}

// stage reads a command, or an expression with redirections.
func (p *parser) stage() (node, error) {
	if !p.startsExpression() {
		return p.command()
	}
	value, err := p.expression()
	if err != nil {
		return nil, err
	}
	rs, err := p.redirects()
	if err != nil || rs == nil {
		return value, err
	}
	return redirected{position(value.at()), value, rs}, nil
}
