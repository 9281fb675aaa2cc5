package template

import (
	"fmt"
	"slices"
	"strings"
)

// lambda is a function of an expression: lambda('x', ...).
type lambda struct {
	names  []string
	body   node
	scope  *scope
	source *call
}

// apply evaluates a lambda expression with values for its variables.
func (l *lambda) apply(args ...any) (any, error) {
	in := *l.scope
	in.bindings = slices.Clip(in.bindings)
	for i, n := range l.names {
		in.bindings = append(in.bindings, binding{n, args[i]})
	}
	return in.eval(l.body)
}

// userFunction is a function that the template defines.
type userFunction struct {
	parameters []any
	output     *Object
}

// userFunctions reads the functions that a template defines, by namespace and name.
func userFunctions(t *Object) (map[string]*userFunction, error) {
	out := map[string]*userFunction{}
	list, _ := t.Get("functions")
	spaces, _ := list.([]any)
	for _, e := range spaces {
		space, _ := e.(*Object)
		for name, m := range space.Object("members").All() {
			member, _ := m.(*Object)
			u := &userFunction{output: member.Object("output")}
			if u.output == nil || space.Text("namespace") == "" {
				return nil, fmt.Errorf("the template function '%s' has no namespace or no output", name)
			}
			v, _ := member.Get("parameters")
			u.parameters, _ = v.([]any)
			out[strings.ToLower(space.Text("namespace")+"."+name)] = u
		}
	}
	return out, nil
}

func (s *scope) callUser(u *userFunction, c *call) (any, error) {
	if len(c.args) != len(u.parameters) {
		return nil, fmt.Errorf("unable to evaluate template function '%s': it takes %d argument(s) while %d were provided",
			c.name, len(u.parameters), len(c.args))
	}
	if s.calls++; s.calls > maxDepth {
		return nil, fmt.Errorf("calls of the template function '%s' lie in each other more than %d deep", c.name, maxDepth)
	}
	defer func() { s.calls-- }()
	in := *s
	in.parameters, in.loops, in.bindings = &Object{}, nil, nil
	args := make([]any, len(c.args))
	for i, a := range c.args {
		v, err := s.eval(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
		p, _ := u.parameters[i].(*Object)
		t, err := typeOf(s.template, p)
		if err == nil {
			err = t.check(v, p.Text("name"))
		}
		if err != nil {
			return nil, fmt.Errorf("the template function '%s': %w", c.name, err)
		}
		in.parameters.Set(p.Text("name"), &lazy{name: p.Text("name"), done: true, value: v})
	}
	raw, _ := u.output.Get("value")
	v, err := in.value(raw)
	if err != nil {
		return nil, err
	}
	if isLater(v) {
		return s.laterOf(showCall(c.name, args))
	}
	t, err := typeOf(s.template, u.output)
	if err == nil {
		err = t.check(v, "output")
	}
	if err != nil {
		return nil, fmt.Errorf("the template function '%s': %w", c.name, err)
	}
	return v, nil
}
