package template

import (
	"errors"
	"fmt"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// Context describes the deployment of a template.
type Context struct {
	Subscription, TenantID string
	// Group is the resource group; GroupLocation is its location.
	Group, GroupLocation string
	// Deployment is the deployment's name; Mode is Incremental or Complete.
	Deployment string
	// Endpoint is the resource manager's URL, which environment() returns.
	Endpoint string
	// APIVersion is the API version that providers() returns.
	APIVersion string
	// Now is the value of utcNow(), in the form 20060102T150405Z.
	Now string
}

// Reference evaluates reference(): it returns the properties of a deployed resource, or the
// whole resource if full is true.
type Reference func(id, apiVersion string, full bool) (any, error)

// scope has the values that an expression can refer to.
type scope struct {
	Context
	functions  map[string]function
	parameters object
	variables  object
	// pending are the unevaluated variables that no expression has used yet.
	pending object
	copies  map[string]int
	current string // the copy loop inside of which we are
	// reference evaluates reference(); it is nil while the template is only expanded.
	reference Reference
	// resources returns the ID of a resource of the template by its short name.
	resources func(name string) (string, bool)
	// seen is called with the ID of each resource that a call of reference() names.
	seen func(id string)
}

// errLater is the error of an expression whose value is known only during the deployment.
var errLater = errors.New("reference() can be used in properties and outputs only")

// value evaluates all expressions in v.
func (s *scope) value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		n, text, err := expression(v)
		if err != nil || n == nil {
			return text, err
		}
		return s.eval(n)
	case []any:
		out := make([]any, 0, len(v))
		for i, e := range v {
			r, err := s.value(e)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out = append(out, r)
		}
		return out, nil
	case object:
		return s.object(v)
	}
	return v, nil
}

// object evaluates an object; a property "copy" adds arrays to the object.
func (s *scope) object(o object) (any, error) {
	out := make(object, len(o))
	for k, e := range o {
		if k == "copy" {
			if loops, ok := e.([]any); ok {
				if err := s.propertyCopies(loops, out); err != nil {
					return nil, err
				}
				continue
			}
		}
		r, err := s.value(e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = r
	}
	return out, nil
}

func (s *scope) propertyCopies(loops []any, into object) error {
	for _, l := range loops {
		loop, ok := l.(object)
		name, _ := loop["name"].(string)
		if !ok || name == "" {
			return fmt.Errorf("copy: a loop needs a name")
		}
		list, err := s.loop(name, loop["count"], func(in *scope) (any, error) { return in.value(loop["input"]) })
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		into[name] = list
	}
	return nil
}

// maxCopies is ARM's limit for the count of a copy loop.
const maxCopies = 800

// loop calls fn once for each iteration of a copy loop.
func (s *scope) loop(name string, count any, fn func(*scope) (any, error)) ([]any, error) {
	v, err := s.value(count)
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	n, ok := v.(float64)
	if !ok || n < 0 || n > maxCopies {
		return nil, fmt.Errorf("count is %v, not a number from 0 to %d", v, maxCopies)
	}
	out := make([]any, 0, int(n))
	for i := range int(n) {
		in := *s
		in.copies, in.current = map[string]int{name: i}, name
		for k, v := range s.copies {
			if k != name {
				in.copies[k] = v
			}
		}
		r, err := fn(&in)
		if err != nil {
			return nil, fmt.Errorf("index %d: %w", i, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func (s *scope) eval(n *node) (any, error) {
	switch n.kind {
	case literal:
		return n.value, nil
	case property:
		of, err := s.eval(n.of)
		if err != nil {
			return nil, err
		}
		return member(of, n.name)
	case index:
		of, err := s.eval(n.of)
		if err != nil {
			return nil, err
		}
		i, err := s.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		return element(of, i)
	}
	if n.name == "if" {
		return s.branch(n)
	}
	args := make([]any, len(n.args))
	for i, a := range n.args {
		v, err := s.eval(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	fn, ok := s.functions[n.name]
	if !ok {
		return nil, fmt.Errorf("the function %s is not supported", n.name)
	}
	if len(args) < fn.min || fn.max >= 0 && len(args) > fn.max {
		return nil, fmt.Errorf("%s takes not %d arguments", n.name, len(args))
	}
	v, err := fn.call(s, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	return v, nil
}

// branch evaluates if(): the condition, then only the argument that it selects.
func (s *scope) branch(n *node) (any, error) {
	if len(n.args) != 3 {
		return nil, fmt.Errorf("if takes three arguments")
	}
	c, err := s.eval(n.args[0])
	if err != nil {
		return nil, err
	}
	b, ok := c.(bool)
	if !ok {
		return nil, fmt.Errorf("if: the condition is %v, not a boolean", c)
	}
	if b {
		return s.eval(n.args[1])
	}
	return s.eval(n.args[2])
}

// member returns a property of an object; names of properties are not case-sensitive.
func member(of any, name string) (any, error) {
	o, ok := of.(object)
	if !ok {
		return nil, fmt.Errorf("%s is asked of %v, which is no object", name, of)
	}
	if v, ok := o[name]; ok {
		return v, nil
	}
	for k, v := range o {
		if strings.EqualFold(k, name) {
			return v, nil
		}
	}
	return nil, fmt.Errorf("there is no property '%s'", name)
}

func element(of, i any) (any, error) {
	switch i := i.(type) {
	case string:
		return member(of, i)
	case float64:
		list, ok := of.([]any)
		if !ok {
			return nil, fmt.Errorf("an index is asked of %v, which is no array", of)
		}
		if i < 0 || int(i) >= len(list) {
			return nil, fmt.Errorf("the array has no index %v", i)
		}
		return list[int(i)], nil
	}
	return nil, fmt.Errorf("%v is no index", i)
}

// parameter returns the value of a parameter.
func (s *scope) parameter(name string) (any, error) {
	v, err := member(s.parameters, name)
	if err != nil {
		return nil, fmt.Errorf("the template parameter '%s' is not found", name)
	}
	return v, nil
}

// variable evaluates a variable when an expression first uses it.
func (s *scope) variable(name string) (any, error) {
	if v, err := member(s.variables, name); err == nil {
		return v, nil
	}
	for k, raw := range s.pending {
		if !strings.EqualFold(k, name) {
			continue
		}
		delete(s.pending, k) // so that a circle ends
		outer := *s
		outer.copies, outer.current, outer.reference = nil, "", nil
		v, err := outer.value(raw)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", k, err)
		}
		s.variables[k] = v
		return v, nil
	}
	return nil, fmt.Errorf("the template variable '%s' is not found", name)
}
