package powershell

import "strings"

// precheck returns an error before a script runs if the script is certain to reach a feature that is not
// simulated. It checks only statements outside of conditions, loops and functions; the other statements are
// refused when they run.
func (r *run) precheck(b *block) error {
	c := &prechecker{r: r, defined: map[string]bool{}}
	c.statements(b.begin)
	c.statements(b.end)
	if c.found == nil {
		return nil
	}
	c.found.before = true
	return c.found
}

// prechecker finds the first feature that a script is certain to reach and that is not simulated.
type prechecker struct {
	r       *run
	defined map[string]bool
	// open is set after a command that may define commands or end the script; ended is set after a statement
	// that may end the script. Both end the check.
	open, ended bool
	found       *unsimulated
}

func (p *prechecker) missing(at node, what string) {
	if p.found == nil {
		p.found = &unsimulated{what: what}
		p.r.located(p.found, at) // only the fields of p.found change
	}
}

func (p *prechecker) statements(body []node) {
	for _, s := range body {
		if f, ok := s.(functionStatement); ok {
			name := strings.ToLower(f.name)
			p.defined[name[strings.IndexByte(name, ':')+1:]] = true
		}
	}
	for _, s := range body {
		if p.ended || p.open || p.found != nil {
			return
		}
		p.node(s)
	}
}

func (p *prechecker) node(n node) {
	if p.found != nil || p.ended {
		return
	}
	switch n := n.(type) {
	case pipeline:
		for _, s := range n.stages {
			p.node(s)
		}
	case redirected:
		p.node(n.value)
	case command:
		p.command(n)
	case assignment:
		if t, ok := n.target.(cast); ok && t.kind == "xml" {
			p.node(t)
		}
		p.node(n.value)
	case tryStatement:
		p.ended = true // an error may leave the body at any statement
	case jump:
		if n.value != nil {
			p.node(n.value)
		}
		p.ended = true
	case parenthesis:
		p.node(n.body)
	case subexpression:
		p.statements(n.body)
	case cast:
		if n.kind == "xml" {
			p.missing(n, "XML documents ([xml])")
		}
		p.node(n.of)
	case member:
		p.node(n.of)
	case invocation:
		if _, ok := n.of.(typeLiteral); !ok {
			p.node(n.of)
		}
	case typeLiteral:
		if u, ok := checkType(n.name).(*unsimulated); ok { // this error is never wrapped
			p.missing(n, u.what)
		}
	case arrayLiteral:
		for _, item := range n.items {
			p.node(item)
		}
	}
}

func (p *prechecker) command(n command) {
	name, ok := n.name.(constant)
	if !ok || n.operator == '.' {
		p.open = true
		return
	}
	low := strings.ToLower(name.text)
	for range 8 {
		to, ok := p.r.alias(low)
		if !ok {
			break
		}
		low = strings.ToLower(to)
	}
	switch low {
	case "import-module", "invoke-expression", "set-alias", "new-alias":
		p.open = true
		return
	case "exit":
		p.ended = true
		return
	}
	if _, isFunction := p.r.function(low); isFunction || p.defined[low] {
		p.open = true // the function's body is not checked, and it may end the script
		return
	}
	cmd := cmdlets[low]
	if cmd == nil {
		verb, noun, ok := strings.Cut(low, "-")
		if _, marked := noEffect[low]; !marked && ok && verbs[verb] && noun != "" && !strings.ContainsAny(low, `\/.:`) {
			if _, program := p.r.host.Has(name.text); !program {
				p.missing(n, "the cmdlet "+name.text+", if the image has one of that name")
			}
		}
		return
	}
	for _, a := range n.args {
		if a.parameter != "" && !cmd.takesUnknown() {
			if s, err := cmd.find(a.parameter); s == nil && err == nil && commonName(a.parameter) == "" {
				known, listed := realParameters()[low]
				if !listed || hasPrefix(known, a.parameter) {
					p.missing(n, "the parameter -"+a.parameter+" of "+cmd.name)
				}
			}
		}
		if group, ok := a.value.(parenthesis); ok {
			p.node(group.body)
		}
	}
}
