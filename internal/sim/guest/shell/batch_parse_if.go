package shell

import (
	"strings"
)

// operand parses a word of a condition, with its quotes.
func (p *cmdParser) operand() string {
	p.blanks(false)
	from := p.pos
	quoted := false
	for p.pos < len(p.text) {
		c := p.peek()
		if c == '\n' || !quoted && (strings.IndexByte(" \t\r,;", c) >= 0 || p.has("==")) {
			break
		}
		if c == '"' {
			quoted = !quoted
		}
		p.pos++
	}
	return p.text[from:p.pos]
}

func (p *cmdParser) ifCommand() (cmdNode, error) {
	n := ifCommand{}
	for {
		p.blanks(false)
		if p.has("/i") || p.has("/I") {
			n.fold = true
			p.pos += 2
			continue
		}
		if strings.EqualFold(p.word(), "not") {
			n.not = !n.not
			p.pos += len("not")
			continue
		}
		break
	}
	syntax := saying("The syntax of the command is incorrect.")
	switch word := strings.ToLower(p.word()); word {
	case "exist", "errorlevel", "defined", "cmdextversion":
		p.pos += len(word)
		n.test, n.left = word, p.operand()
	default:
		n.left = p.operand()
		p.blanks(false)
		if p.has("==") {
			p.pos += len("==")
			n.test, n.right = "==", p.operand()
		} else if word := strings.ToLower(p.word()); comparisons[word] {
			p.pos += len(word)
			n.test, n.right = word, p.operand()
		} else {
			return nil, syntax
		}
		if n.right == "" {
			return nil, syntax
		}
	}
	if n.left == "" && n.test != "==" {
		return nil, syntax
	}
	p.blanks(false)
	if p.pos >= len(p.text) || p.peek() == '\n' {
		return nil, syntax
	}
	var err error
	if p.peek() != '(' {
		if n.then, err = p.sequence(); err != nil {
			return n, err
		}
		return p.otherwise(n)
	}
	if n.then, err = p.block(); err != nil {
		return nil, err
	}
	if n, err := p.otherwise(n); err != nil || n.otherwise != nil {
		return n, err
	}
	n.then, err = p.rest(n.then)
	return n, err
}

// otherwise parses an else, which belongs to the innermost if that has none.
func (p *cmdParser) otherwise(n ifCommand) (ifCommand, error) {
	p.blanks(false)
	if !strings.EqualFold(p.word(), "else") {
		return n, nil
	}
	p.pos += len("else")
	p.blanks(false)
	var err error
	n.otherwise, err = p.sequence()
	return n, err
}

// rest parses the operators after a block that is the body of an if; the commands that they join belong to the body.
func (p *cmdParser) rest(body cmdNode) (cmdNode, error) {
	for _, operator := range []string{"&&", "||", "|", "&"} {
		if p.join(operator) {
			p.blanks(false)
			if operator == "&" && (p.pos >= len(p.text) || p.peek() == '\n' || p.peek() == ')') {
				return body, nil
			}
			right, err := p.sequence()
			return joinedCommand{operator, body, right}, err
		}
	}
	return body, nil
}

func (p *cmdParser) forCommand() (cmdNode, error) {
	n := forCommand{}
	syntax := saying("The syntax of the command is incorrect.")
	p.blanks(false)
	if p.peek() == '/' && p.pos+1 < len(p.text) {
		n.mode = strings.ToLower(p.text[p.pos+1 : p.pos+2])
		p.pos += 2
		if !strings.Contains("lfdr", n.mode) {
			return nil, syntax
		}
		p.blanks(false)
		if other := strings.ToLower(p.text[p.pos:min(p.pos+2, len(p.text))]); n.mode == "d" && other == "/r" || n.mode == "r" && other == "/d" {
			n.mode, n.folders = "r", true
			p.pos += 2
			p.blanks(false)
		}
		if p.peek() != '%' {
			n.options = p.operand()
			p.blanks(false)
		}
	}
	if p.peek() != '%' || p.pos+1 >= len(p.text) {
		return nil, syntax
	}
	n.variable = p.text[p.pos+1]
	p.pos += 2
	p.blanks(false)
	if !strings.EqualFold(p.word(), "in") {
		return nil, syntax
	}
	p.pos += len("in")
	p.blanks(false)
	if p.peek() != '(' {
		return nil, syntax
	}
	p.pos++
	from, quoted := p.pos, byte(0)
	for ; p.pos < len(p.text); p.pos++ {
		c := p.peek()
		if quoted != 0 {
			if c == quoted {
				quoted = 0
			}
			continue
		}
		if c == '"' || n.mode == "f" && (c == '\'' || c == '`') {
			quoted = c
		}
		if c == ')' {
			break
		}
	}
	if p.pos >= len(p.text) {
		p.open = true
		return nil, errOpen
	}
	n.set = p.text[from:p.pos]
	p.pos++
	p.blanks(true)
	if !strings.EqualFold(p.word(), "do") {
		return nil, syntax
	}
	p.pos += len("do")
	p.blanks(false)
	if p.pos >= len(p.text) {
		return nil, syntax
	}
	body, err := p.sequence()
	n.body = body
	return n, err
}
