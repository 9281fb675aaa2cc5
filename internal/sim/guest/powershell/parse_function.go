package powershell

import (
	"slices"
	"strings"
)

func (p *parser) function(from position, filter bool) (node, error) {
	p.lines()
	start := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n({", p.text[p.pos]) < 0 {
		p.pos++
	}
	f := functionStatement{position: from, filter: filter, name: p.text[start:p.pos]}
	if f.name == "" {
		return nil, p.fail("Missing name after function keyword.")
	}
	var list []parameter
	p.lines()
	if p.peek() == '(' {
		p.pos++
		var err error
		if list, err = p.parameterList(); err != nil {
			return nil, err
		}
	}
	if p.lines(); p.peek() != '{' {
		return nil, p.fail("Missing function body in function declaration.")
	}
	p.pos++
	body, err := p.block('}')
	if err != nil {
		return nil, err
	}
	if list != nil {
		body.parameters = &parameters{list: list, binding: slices.ContainsFunc(list, isAdvanced)}
	}
	if filter {
		body.process, body.end, body.streams = body.end, nil, true
	}
	f.body, f.text = body, p.text[from:p.pos]
	_, f.text, _ = strings.Cut(f.text, "{")
	f.text = strings.TrimSuffix(f.text, "}")
	return f, nil
}

// header reads the attributes and param( ) of a block, if it has any.
func (p *parser) header(b *block) error {
	from := p.pos
	binding := false
	params := &parameters{impact: impacts["medium"]}
	for {
		p.separators()
		if p.peek() != '[' {
			break
		}
		a, err := p.attribute()
		if err != nil || a == nil {
			p.pos = from
			return nil // the bracket is not an attribute, so a statement starts here
		}
		if a.name == "cmdletbinding" {
			binding = true
			params.bindingOf(a)
		}
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
	params.list, params.binding = list, binding || slices.ContainsFunc(list, isAdvanced)
	b.parameters = params
	return nil
}

// isAdvanced reports whether a parameter makes its function an advanced function.
func isAdvanced(one parameter) bool { return len(one.sets) > 0 }

// bindingOf applies the arguments of [CmdletBinding()].
func (ps *parameters) bindingOf(a *attribute) {
	for name, value := range a.named {
		switch name {
		case "defaultparametersetname":
			if c, ok := value.(constant); ok {
				ps.defaultSet = text(c.value)
			}
		case "supportsshouldprocess":
			ps.should = isTrue(value)
		case "confirmimpact":
			if c, ok := value.(constant); ok {
				ps.impact = impacts[strings.ToLower(text(c.value))]
			}
		case "positionalbinding":
			ps.unplaced = !isTrue(value)
		}
	}
}

// isTrue reports whether a node is a true literal.
func isTrue(n node) bool {
	switch n := n.(type) {
	case constant:
		return truth(n.value)
	case variable:
		return n.name == "true"
	}
	return false
}

// attribute is an attribute, such as [Parameter(Mandatory)].
type attribute struct {
	name  string
	args  []node
	named map[string]node
}

// attribute reads an attribute in brackets. It returns nil if the brackets contain a type.
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

// attributeArgument reads one argument of an attribute: a value, or name=value.
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

// parameterList reads parameters up to and including the closing parenthesis.
func (p *parser) parameterList() ([]parameter, error) {
	out := []parameter{}
	for {
		p.lines()
		if p.peek() == ')' {
			p.pos++
			return out, nil
		}
		if c := p.peek(); c != '$' && c != '[' {
			return nil, p.fail("Missing ')' in function parameter list.")
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

// parameter reads a parameter with its attributes, types and default value.
func (p *parser) parameter() (parameter, error) {
	one := parameter{}
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
	one.name, one.shown = name.name, name.shown
	p.lines()
	if p.peek() == '=' {
		p.pos++
		p.lines()
		one.initial, err = p.argumentExpression()
	}
	return one, err
}

// apply applies an attribute to its parameter (about_Functions_Advanced_Parameters).
func (p *parser) apply(one *parameter, a *attribute) error {
	switch a.name {
	case "parameter":
		set := parameterSet{position: -1}
		for name, value := range a.named {
			switch name {
			case "mandatory":
				set.mandatory = isTrue(value)
			case "valuefrompipeline":
				set.pipeline = isTrue(value)
			case "valuefrompipelinebypropertyname":
				set.property = isTrue(value)
			case "valuefromremainingarguments":
				set.remains = isTrue(value)
			case "position":
				if c, ok := value.(constant); ok {
					n, _, _ := wholeOf(c.value)
					set.position = int(n)
				}
			case "parametersetname":
				if c, ok := value.(constant); ok {
					set.name = text(c.value)
				}
			case "helpmessage", "dontshow", "helpmessagebasename", "helpmessageresourceid":
			default:
				return p.missing("the parameter attribute " + name)
			}
		}
		one.sets = append(one.sets, set)
	case "validateset", "validatepattern", "validaterange", "validatelength", "validatecount", "validatescript",
		"validatenotnullorempty", "validatenotnull":
		one.validators = append(one.validators, validator{a.name, a.args})
	case "alias":
		for _, n := range a.args {
			if c, ok := n.(constant); ok {
				one.aliases = append(one.aliases, strings.ToLower(c.text))
			}
		}
	case "allownull":
		one.null = true
	case "allowemptystring":
		one.emptyText = true
	case "allowemptycollection":
		one.emptyList = true
	case "supportswildcards", "argumentcompleter", "psdefaultvalue":
	default:
		return p.missing("the parameter attribute [" + a.name + "]")
	}
	return nil
}
