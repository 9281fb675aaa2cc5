package powershell

import (
	"strings"
)

func (p *parser) function(from position, filter bool) (node, error) {
	p.spaces()
	start := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n({", p.text[p.pos]) < 0 {
		p.pos++
	}
	f := functionStatement{position: from, name: strings.ToLower(p.text[start:p.pos])}
	if f.name == "" {
		return nil, p.fail("Missing name after function keyword.")
	}
	f.name = strings.TrimPrefix(strings.TrimPrefix(f.name, "global:"), "script:")
	var list []parameter
	p.lines()
	if p.peek() == '(' {
		p.pos++
		var err error
		if list, err = p.parameterList(); err != nil {
			return nil, err
		}
	}
	if err := p.want('{'); err != nil {
		return nil, err
	}
	body, err := p.block('}')
	if err != nil {
		return nil, err
	}
	if list != nil {
		body.parameters = &parameters{list: list}
	}
	if filter {
		body.process, body.end, body.streams = body.end, nil, true
	}
	f.body, f.text = body, p.text[from:p.pos]
	return f, nil
}

// header reads the attributes and param( ) of a block.
func (p *parser) header(b *block) error {
	from := p.pos
	binding := false
	for {
		p.separators()
		if p.peek() != '[' {
			break
		}
		a, err := p.attribute()
		if err != nil || a == nil {
			p.pos = from
			return nil //nolint:nilerr // it is no attribute; the statement is read as one
		}
		binding = binding || a.name == "cmdletbinding"
	}
	if !p.keyword("param") {
		if !binding {
			p.pos = from
		}
		return nil
	}
	if err := p.want('('); err != nil {
		return err
	}
	list, err := p.parameterList()
	if err != nil {
		return err
	}
	for i := range list {
		binding = binding || list[i].mandatory || list[i].pipeline
	}
	b.parameters = &parameters{list: list, binding: binding}
	return nil
}

// attribute is [Name(arguments)].
type attribute struct {
	name  string
	args  []node
	named map[string]node
}

// attribute reads an attribute in brackets; it returns nil for a type.
func (p *parser) attribute() (*attribute, error) {
	from := p.pos
	p.pos++
	start := p.pos
	for p.pos < len(p.text) && (isLetter(p.text[p.pos]) || isDigit(p.text[p.pos]) || p.text[p.pos] == '.') {
		p.pos++
	}
	a := &attribute{name: typeKey(p.text[start:p.pos]), named: map[string]node{}}
	a.name = strings.TrimPrefix(a.name, "management.automation.")
	p.spaces()
	if p.peek() != '(' {
		p.pos = from
		return nil, nil
	}
	p.pos++
	for {
		p.lines()
		if p.peek() == ')' {
			p.pos++
			return a, p.want(']')
		}
		if err := p.attributeArgument(a); err != nil {
			return nil, err
		}
		p.lines()
		if p.peek() == ',' {
			p.pos++
		} else if p.peek() != ')' {
			return nil, p.expected(")")
		}
	}
}

func (p *parser) attributeArgument(a *attribute) error {
	from := p.pos
	if isLetter(p.peek()) {
		name := strings.ToLower(p.identifier())
		p.spaces()
		if p.peek() == '=' {
			p.pos++
			p.lines()
			value, err := p.argumentExpression()
			a.named[name] = value
			return err
		}
		if c := p.peek(); c == ',' || c == ')' {
			a.named[name] = constant{position(from), true, "true"}
			return nil
		}
		p.pos = from
	}
	value, err := p.argumentExpression()
	a.args = append(a.args, value)
	return err
}

// parameterList reads parameters up to the parenthesis that ends them.
func (p *parser) parameterList() ([]parameter, error) {
	out := []parameter{}
	for {
		p.lines()
		if p.peek() == ')' {
			p.pos++
			return out, nil
		}
		one, err := p.parameter()
		if err != nil {
			return nil, err
		}
		out = append(out, one)
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

func (p *parser) parameter() (parameter, error) {
	one := parameter{position: -1}
	for p.lines(); p.peek() == '['; p.lines() {
		a, err := p.attribute()
		if err != nil {
			return one, err
		}
		if a == nil {
			kind, err := p.typeName()
			if err != nil {
				return one, err
			}
			one.kinds = append(one.kinds, kind)
			continue
		}
		if err := p.apply(&one, a); err != nil {
			return one, err
		}
	}
	if p.peek() != '$' {
		return one, p.expected("$")
	}
	v, err := p.variable()
	if err != nil {
		return one, err
	}
	name, ok := v.(variable)
	if !ok {
		return one, p.expected("a variable")
	}
	one.name = name.name
	p.lines()
	if p.peek() == '=' {
		p.pos++
		p.lines()
		one.initial, err = p.argumentExpression()
	}
	return one, err
}

// apply puts an attribute into a parameter.
func (p *parser) apply(one *parameter, a *attribute) error {
	isTrue := func(n node) bool {
		switch n := n.(type) {
		case constant:
			return n.value == true
		case variable:
			return n.name == "true"
		}
		return false
	}
	switch a.name {
	case "parameter":
		for name, value := range a.named {
			switch name {
			case "mandatory":
				one.mandatory = isTrue(value)
			case "valuefrompipeline":
				one.pipeline = isTrue(value)
			case "valuefrompipelinebypropertyname":
				one.property = isTrue(value)
			case "valuefromremainingarguments":
				one.remains = isTrue(value)
			case "position":
				if c, ok := value.(constant); ok {
					n, _ := c.value.(int64)
					one.position = int(n)
				}
			case "helpmessage", "parametersetname", "dontshow":
			default:
				return p.missing("the parameter attribute " + name)
			}
		}
	case "validateset":
		one.values = a.args
	case "validatepattern":
		if c, ok := first(a.args).(constant); ok {
			one.pattern, _ = c.value.(string)
		}
	case "validatenotnullorempty", "validatenotnull":
		one.notEmpty = true
	case "alias":
		for _, n := range a.args {
			if c, ok := n.(constant); ok {
				one.aliases = append(one.aliases, strings.ToLower(c.text))
			}
		}
	case "allownull", "allowemptystring", "allowemptycollection":
	default:
		return p.missing("the parameter attribute [" + a.name + "]")
	}
	return nil
}

func first(list []node) node {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
