package powershell

import "strings"

// precheck refuses a script by name before anything of it runs, for what it is sure to come to and
// the simulation has not: statements that no condition, loop or function is around. What only some
// runs come to is refused there.
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

type prechecker struct {
	r       *run
	defined map[string]bool
	// open is set once the script has taken in commands that it does not define itself.
	open, ended bool
	found       *unsimulated
}

func (c *prechecker) missing(at node, what string) {
	if c.found == nil {
		c.found = &unsimulated{what: what}
		c.r.located(c.found, at) //nolint:errcheck // it returns what it is given
	}
}

func (c *prechecker) statements(body []node) {
	for _, s := range body {
		if f, ok := s.(functionStatement); ok {
			name := strings.ToLower(f.name)
			c.defined[name[strings.IndexByte(name, ':')+1:]] = true
		}
	}
	for _, s := range body {
		if c.ended || c.open || c.found != nil {
			return
		}
		c.node(s)
	}
}

func (c *prechecker) node(n node) {
	if c.found != nil || c.ended {
		return
	}
	switch n := n.(type) {
	case pipeline:
		for _, s := range n.stages {
			c.node(s)
		}
	case redirected:
		c.node(n.value)
	case command:
		c.command(n)
	case assignment:
		c.node(n.value)
	case tryStatement:
		c.ended = true // an error may leave it at any place
	case jump:
		if n.value != nil {
			c.node(n.value)
		}
		c.ended = true
	case parenthesis:
		c.node(n.body)
	case subexpression:
		c.statements(n.body)
	case cast:
		if n.kind == "xml" {
			c.missing(n, "XML documents ([xml])")
		}
		c.node(n.of)
	case member:
		c.node(n.of)
	case invocation:
		if _, ok := n.of.(typeLiteral); !ok {
			c.node(n.of)
		}
	case typeLiteral:
		if u, ok := known(n.name).(*unsimulated); ok { //nolint:errorlint // it is not wrapped
			c.missing(n, u.what)
		}
	case arrayLiteral:
		for _, item := range n.items {
			c.node(item)
		}
	}
}

func (c *prechecker) command(n command) {
	name, ok := n.name.(constant)
	if !ok || n.operator == '.' {
		c.open = true
		return
	}
	low := strings.ToLower(name.text)
	for range 8 {
		to, ok := c.r.alias(low)
		if !ok {
			break
		}
		low = strings.ToLower(to)
	}
	switch low {
	case "import-module", "invoke-expression", "set-alias", "new-alias":
		c.open = true
		return
	case "exit":
		c.ended = true
		return
	}
	if _, isFunction := c.r.function(low); isFunction || c.defined[low] {
		c.open = true // what it does is not looked at, and it may end the script
		return
	}
	cmd := cmdlets[low]
	if cmd == nil {
		verb, noun, ok := strings.Cut(low, "-")
		if _, marked := noEffect[low]; !marked && ok && verbs[verb] && noun != "" && !strings.ContainsAny(low, `\/.:`) {
			if _, program := c.r.host.Has(name.text); !program {
				c.missing(n, "the cmdlet "+name.text+", if the image has one of that name")
			}
		}
		return
	}
	for _, a := range n.args {
		if a.parameter != "" && !cmd.loose() {
			if s, err := cmd.find(a.parameter); s == nil && err == nil && commonName(a.parameter) == "" {
				known, listed := realParameters()[low]
				if !listed || hasPrefix(known, a.parameter) {
					c.missing(n, "the parameter -"+a.parameter+" of "+cmd.name)
				}
			}
		}
		if p, ok := a.value.(parenthesis); ok {
			c.node(p.body)
		}
	}
}
