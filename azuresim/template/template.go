package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Context is where a template is deployed, and what is known of it.
type Context struct {
	Subscription, Tenant, Deployment string
	// Group is the resource group, "" for a deployment to the subscription.
	Group string
	// Location is that of the group, or of the deployment to a subscription; "" if it is not known.
	Location string
	Tags     *Object
	// Environment and Deployer answer the functions of these names; nil if that is known later.
	Environment, Deployer *Object
	// Now and NewGUID answer utcNow and newGuid; without them that is known later.
	Now     time.Time
	NewGUID func() string
	// Existing returns the location of a resource group, "" if it is not known. It may be nil.
	Existing func(subscription, group string) string
	// HideSecrets leaves secure parameters as expressions, so that no output has them.
	HideSecrets bool
}

// Template is a template with its parameters: what it deploys.
type Template struct {
	// Resources are in the order of the template.
	Resources []*Resource
	// Parameters are the values of the parameters; those of secure types have none.
	Parameters []Parameter
	// Problems are what the deployment service refuses beyond the template language: circles,
	// duplicates, and dependencies on what is not in the template.
	Problems []string

	*Context
	symbolic  bool
	scope     *scope
	outputs   *Object
	byID      map[string]*Resource
	byName    map[string]*Resource
	loops     map[string][]*Resource
	evaluated *Object
	busy      bool
	level     int // how many deployments it is in
}

// Parameter is a parameter's declared type and value.
type Parameter struct {
	Name, Type string
	Value      any
}

// Limits of a template.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/templates/best-practices#template-limits.
const (
	maxParameters = 256
	maxVariables  = 512
	maxOutputs    = 64
	maxResources  = 800
	// maxLevels is how deep deployments may lie in each other.
	maxLevels = 5
)

// New checks a template and its parameters, name to {"value": ...}, and expands conditions,
// copies and dependencies; nested deployments are expanded as well. Its errors are mistakes in
// the template or its parameters.
func New(template, given *Object, c Context) (*Template, error) {
	t, err := build(template, given, &c, &run{parsed: map[string]node{}, table: table()}, nil, 0)
	if err != nil {
		return nil, err
	}
	return t, t.nested()
}

// build expands one template. outer is the scope that the expressions of a nested deployment are
// evaluated in, if it is not that of its own.
func build(template, given *Object, c *Context, r *run, outer *scope, level int) (*Template, error) {
	for _, key := range []string{"$schema", "contentVersion", "resources"} {
		if _, ok := template.Get(key); !ok {
			return nil, fmt.Errorf("required property '%s' not found in the template", key)
		}
	}
	t := &Template{Context: c, level: level, outputs: template.Object("outputs"), byID: map[string]*Resource{}, byName: map[string]*Resource{},
		loops: map[string][]*Resource{}}
	for _, key := range []string{"imports", "extensions"} {
		if template.Object(key).Len() > 0 {
			return nil, fmt.Errorf("%s of a template are not supported by the local Azure", key)
		}
	}
	for _, l := range []struct {
		key string
		max int
	}{{"parameters", maxParameters}, {"variables", maxVariables}, {"outputs", maxOutputs}} {
		v, ok := template.Get(l.key)
		if o, is := v.(*Object); ok && v != nil && !is {
			return nil, fmt.Errorf("'%s' of the template is no object", l.key)
		} else if o.Len() > l.max {
			return nil, fmt.Errorf("the template has %d %s, more than the limit of %d", o.Len(), l.key, l.max)
		}
	}
	s := &scope{run: r, Context: c, template: template, resources: t}
	if outer != nil {
		in := *outer
		s = &in
		s.resources, s.place = t, 0
		if err := givenAll(template, given); err != nil {
			return nil, err
		}
	} else if err := t.declare(s, given); err != nil {
		return nil, err
	}
	t.scope = s
	if err := t.expandAll(template); err != nil {
		return nil, err
	}
	return t, t.order()
}

// givenAll checks that each parameter without a default value is given.
func givenAll(template, given *Object) error {
	for name, d := range template.Object("parameters").All() {
		def, _ := d.(*Object)
		if _, ok := def.Get("defaultValue"); ok {
			continue
		}
		if _, ok := given.Get(name); !ok {
			return fmt.Errorf("the value for the template parameter '%s' is not provided", name)
		}
	}
	return nil
}

// declare reads functions, parameters and variables, and evaluates all of them.
func (t *Template) declare(s *scope, given *Object) (err error) {
	if s.functions, err = userFunctions(s.template); err != nil {
		return err
	}
	s.parameters, s.variables = &Object{}, &Object{}
	declared := s.template.Object("parameters")
	for name := range given.All() {
		if _, ok := declared.Get(name); !ok {
			return fmt.Errorf("the following parameters were supplied, but do not correspond to any parameters defined in the template: "+
				"'%s'. The parameters defined in the template are: '%s'", name, declared.keysList())
		}
	}
	for name, d := range declared.All() {
		def, _ := d.(*Object)
		p, err := s.parameter(name, def, given)
		if err != nil {
			return err
		}
		s.parameters.Set(name, p)
	}
	if err := s.declareVariables(); err != nil {
		return err
	}
	for name, l := range s.parameters.All() {
		v, err := s.force(l.(*lazy))
		if err != nil {
			return err
		}
		def, _ := declared.Get(name)
		typ, err := typeOf(s.template, def.(*Object))
		if err != nil {
			return err
		}
		if typ.secure {
			v = nil
		}
		t.Parameters = append(t.Parameters, Parameter{name, typ.name, v})
	}
	for _, l := range s.variables.All() {
		if _, err := s.force(l.(*lazy)); err != nil {
			return err
		}
	}
	return nil
}

// parameter returns a parameter, to be evaluated.
func (s *scope) parameter(name string, def, given *Object) (*lazy, error) {
	typ, err := typeOf(s.template, def)
	if err != nil {
		return nil, fmt.Errorf("the template parameter '%s': %w", name, err)
	}
	place := "parameter '" + name + "'"
	g, _ := given.Get(name)
	o, _ := g.(*Object)
	v, isGiven := o.Get("value")
	if ref, ok := o.Get("reference"); ok && ref != nil {
		v, isGiven = later{text: "parameters(" + showValue(name) + ")"}, true // a secret of a key vault
	}
	l := &lazy{name: name}
	fallback, hasDefault := def.Get("defaultValue")
	switch {
	case isGiven && v != nil:
		l.eval = func() (any, error) {
			if err := typ.check(v, place); err != nil {
				return nil, err
			}
			if typ.secure && s.HideSecrets && s.resources.level == 0 {
				return later{text: "parameters(" + showValue(name) + ")"}, nil
			}
			return v, nil
		}
	case hasDefault:
		l.eval = func() (any, error) {
			in := *s
			in.place |= placeDefault
			v, err := in.value(fallback)
			if err != nil {
				return nil, fmt.Errorf("the template expression in parameter '%s' is not valid: %w", name, err)
			}
			return v, typ.check(v, place)
		}
	case typ.nullable():
		l.done = true
	default:
		return nil, fmt.Errorf("the value for the template parameter '%s' is not provided", name)
	}
	return l, nil
}

func (s *scope) declareVariables() error {
	in := *s
	in.place |= placeCopy
	for name, raw := range s.template.Object("variables").All() {
		list, isCopy := raw.([]any)
		if !isCopy || !strings.EqualFold(name, "copy") {
			s.variables.Set(name, &lazy{name: name, eval: func() (any, error) {
				v, err := in.value(raw)
				if err != nil {
					err = fmt.Errorf("the template variable '%s' is not valid: %w", name, err)
				}
				return v, err
			}})
			continue
		}
		for _, c := range list {
			def, _ := c.(*Object)
			each, _, err := in.copyOf(NewObject("name", def.Text("name"), "count", int64(0)))
			if err != nil {
				return err
			}
			s.variables.Set(each, &lazy{name: each, eval: func() (any, error) {
				o := &Object{}
				err := in.copies([]any{def}, o)
				v, _ := o.Get(each)
				return v, err
			}})
		}
	}
	in.variables = s.variables
	return nil
}

// expandAll expands the resources of a template: an array, or an object by symbolic name
// (languageVersion 2.0).
func (t *Template) expandAll(template *Object) error {
	t.symbolic = strings.HasPrefix(template.Text("languageVersion"), "2.")
	raw, _ := template.Get("resources")
	items := &Object{}
	switch raw := raw.(type) {
	case []any:
		if t.symbolic {
			return errors.New("'resources' of a template in languageVersion 2.0 has to be an object of symbolic names")
		}
		for i, e := range raw {
			items.add(fmt.Sprintf("resources[%d]", i), e)
		}
	case *Object:
		if !t.symbolic {
			return errors.New("'resources' of the template is an object of symbolic names, which needs languageVersion 2.0")
		}
		items = raw
	default:
		return errors.New("'resources' of the template is no array")
	}
	for i, key := range items.keys {
		o, is := items.values[i].(*Object)
		if !is {
			return fmt.Errorf("'%s' of the template is no resource", key)
		}
		if err := t.expand(t.scope, o, key, nil); err != nil {
			return err
		}
	}
	if n := len(t.Resources); n > maxResources && t.level == 0 {
		t.problem("the template has %d resources, more than the limit of %d", n, maxResources)
	}
	return nil
}

// expand adds what one entry of a template's resources yields: a resource, or one for each round
// of its copy loop, with child resources.
func (t *Template) expand(s *scope, raw *Object, key string, parent *Resource) error {
	loopOf := raw.Object("copy")
	if loopOf == nil {
		_, err := t.expandOne(s, raw, key, parent, "")
		return err
	}
	name, count, err := s.copyOf(loopOf)
	if err != nil {
		return fmt.Errorf("the template resource '%s' is not valid: %w", cut(cmpText(raw.Text("name"), key), 200), err)
	}
	batch, err := s.batchOf(loopOf)
	if err != nil {
		return err
	}
	all := []*Resource{}
	lower := strings.ToLower(name)
	for i := range count {
		r, err := t.expandOne(s.in(loop{name: name, index: i}), raw, key, parent, fmt.Sprintf("[%d]", i))
		if err != nil {
			return err
		}
		if b := i / max(batch, 1); batch > 0 && b > 0 {
			r.after = slices.Clone(all[(b-1)*batch : b*batch])
		}
		all = append(all, r)
		t.loops[lower] = append(t.loops[lower], r)
	}
	if count == 0 {
		t.loops[lower] = append(t.loops[lower], nil...)
	}
	if t.symbolic && parent == nil {
		t.loops[strings.ToLower(key)] = all
	}
	return nil
}

func cmpText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// batchOf returns the batch size of a serial copy loop, 0 for others.
func (s *scope) batchOf(def *Object) (int64, error) {
	if !strings.EqualFold(def.Text("mode"), "serial") {
		return 0, nil
	}
	raw, ok := def.Get("batchSize")
	if !ok {
		return 1, nil
	}
	v, err := s.value(raw)
	if n, is := v.(int64); err == nil && is && n > 0 {
		return n, nil
	}
	return 0, errors.Join(errors.New("the batchSize of a 'copy' definition has to be a positive integer"), err)
}

// problem notes what the deployment service refuses.
func (t *Template) problem(format string, args ...any) {
	if p := fmt.Sprintf(format, args...); !slices.Contains(t.Problems, p) {
		t.Problems = append(t.Problems, p)
	}
}

// find finds a resource by symbolic name, one of a loop as name[0], by ID or by name.
func (t *Template) find(name string) *Resource {
	lower := strings.ToLower(name)
	if r := t.byID[lower]; r != nil {
		return r
	}
	return t.byName[lower]
}

// loop returns the resources of a copy loop.
func (t *Template) loop(name string) []*Resource { return t.loops[strings.ToLower(name)] }

// nested expands the nested deployments that nothing referred to.
func (t *Template) nested() error {
	for _, r := range t.Resources {
		if !r.Deployed() || !r.IsDeployment() {
			continue
		}
		in, err := r.inner()
		if err != nil {
			return err
		}
		if in == nil {
			continue
		}
		if err := in.nested(); err != nil {
			return err
		}
		for _, p := range in.Problems {
			t.problem("%s", p)
		}
	}
	return nil
}

// Output is one output of a template.
type Output struct {
	Name, Type string
	Value      any
	Secure     bool
}

// Outputs returns the template's outputs; live answers for deployed resources, nil if there are none.
func (t *Template) Outputs(live Live) ([]Output, error) {
	var out []Output
	for name, raw := range t.outputs.All() {
		def, _ := raw.(*Object)
		o, ok, err := t.output(name, def, live)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, o)
		}
	}
	return out, nil
}

func (t *Template) output(name string, def *Object, live Live) (o Output, ok bool, err error) {
	s := *t.scope
	s.live, s.place = live, s.place|placeRuntime
	place := "output '" + name + "'"
	typ, err := typeOf(s.template, def)
	if err != nil {
		return o, false, fmt.Errorf("the template %s: %w", place, err)
	}
	o = Output{Name: name, Type: typ.name, Secure: typ.secure}
	if c, has := def.Get("condition"); has {
		v, err := s.value(c)
		if err != nil || v == false {
			return o, false, err
		}
		if _, is := v.(bool); !is && !isLater(v) {
			return o, false, fmt.Errorf("the condition of the template %s is of type '%s'; it has to be a boolean", place, kindOf(v))
		}
	}
	if c := def.Object("copy"); c != nil {
		n, err := s.countOf(c)
		if err != nil {
			return o, false, err
		}
		list := []any{}
		input, _ := c.Get("input")
		for i := range n {
			v, err := s.in(loop{name: name, index: i}).value(input)
			if err != nil {
				return o, false, err
			}
			list = append(list, v)
		}
		o.Value = list
	} else {
		raw, _ := def.Get("value")
		if o.Value, err = s.value(raw); err != nil {
			return o, false, err
		}
	}
	if _, err := s.weigh(o.Value); err != nil {
		return o, false, err
	}
	return o, true, typ.check(o.Value, place)
}
