package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/template/datum"
)

// Context is where a template is deployed, and what is known of it.
type Context struct {
	Subscription, Tenant, Deployment string
	// Group is the resource group, "" for a deployment to the subscription.
	Group string
	// Location is that of the group, or of the deployment to a subscription; "" if it is not known.
	Location string
	Tags     *datum.Object
	// Environment and Deployer answer the functions of these names; nil if that is known later.
	Environment, Deployer *datum.Object
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
	// Resources are in the order in which they can be deployed.
	Resources []*Resource
	// Parameters are the values of the parameters; those of secure types have none.
	Parameters []Parameter
	// Problems are what the deployment service refuses beyond the template language: circles,
	// duplicates, and dependencies on what is not in the template.
	Problems []string

	*Context
	symbolic  bool
	scope     *scope
	outputs   *datum.Object
	byID      map[string]*Resource
	byName    map[string]*Resource
	loops     map[string][]*Resource
	evaluated *datum.Object
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
func New(template, given *datum.Object, c Context) (t *Template, err error) {
	defer catch(&err)
	t = build(template, given, &c, &run{parsed: map[string]node{}, table: table()}, nil, 0)
	t.nested()
	return t, nil
}

// build expands one template. outer is the scope that the expressions of a nested deployment are
// evaluated in, if it is not that of its own.
func build(template, given *datum.Object, c *Context, r *run, outer *scope, level int) *Template {
	for _, key := range []string{"$schema", "contentVersion", "resources"} {
		if !template.Has(key) {
			fail("required property '%s' not found in the template", key)
		}
	}
	for _, key := range []string{"imports", "extensions"} {
		if template.Object(key).Len() > 0 {
			fail("%s of a template are not supported by the local Azure", key)
		}
	}
	for i, key := range []string{"parameters", "variables", "outputs"} {
		most := []int{maxParameters, maxVariables, maxOutputs}[i]
		v, _ := template.Get(key)
		if o, is := v.(*datum.Object); v != nil && !is {
			fail("'%s' of the template is no object", key)
		} else if o.Len() > most {
			fail("the template has %d %s, more than the limit of %d", o.Len(), key, most)
		}
	}
	t := &Template{Context: c, level: level, outputs: template.Object("outputs"), byID: map[string]*Resource{}, byName: map[string]*Resource{},
		loops: map[string][]*Resource{}, symbolic: strings.HasPrefix(template.Text("languageVersion"), "2.")}
	if outer != nil {
		in := *outer
		in.resources, in.place, t.scope = t, 0, &in
		for name := range template.Object("parameters").All() {
			if !template.Object("parameters").Object(name).Has("defaultValue") && !given.Has(name) {
				failNotGiven(name)
			}
		}
	} else {
		t.scope = &scope{run: r, Context: c, template: template, resources: t}
		t.declare(given)
	}
	t.expandAll(template)
	t.order()
	return t
}

func failNotGiven(name string) {
	fail("the value for the template parameter '%s' is not provided", name)
}

// declare reads functions, parameters and variables, and evaluates all of them.
func (t *Template) declare(given *datum.Object) {
	s := t.scope
	s.functions, s.parameters, s.variables = userFunctions(s.template), &datum.Object{}, &datum.Object{}
	declared := s.template.Object("parameters")
	for name := range given.All() {
		if !declared.Has(name) {
			fail("the following parameters were supplied, but do not correspond to any parameters defined in the template: '%s'. The "+
				"parameters defined in the template are: '%s'", name, strings.Join(declared.Keys(), ", "))
		}
	}
	for name := range declared.All() {
		s.declareParameter(name, declared.Object(name), given.Object(name))
	}
	s.declareVariables()
	for name, l := range s.parameters.All() {
		l := l.(*lazy)
		v := s.force(l)
		t.Parameters = append(t.Parameters, Parameter{name, l.typ.name, cond(l.typ.secure, nil, v)})
	}
	for _, l := range s.variables.All() {
		s.force(l.(*lazy))
	}
}

// declareParameter adds a parameter, to be evaluated.
func (s *scope) declareParameter(name string, def, given *datum.Object) {
	defer within("the template parameter '%s'", name)
	typ := typeOf(s.template, def, "parameter '"+name+"'")
	hidden := datum.Later{Text: "parameters(" + show(name) + ")"}
	v, _ := given.Get("value")
	if ref, _ := given.Get("reference"); ref != nil {
		v = hidden // a secret of a key vault
	}
	l := &lazy{name: name, typ: typ}
	s.parameters.Set(name, l)
	fallback, hasDefault := def.Get("defaultValue")
	switch {
	case v != nil:
		l.eval = func() any {
			typ.check(v)
			return cond(typ.secure && s.HideSecrets && s.resources.level == 0, any(hidden), v)
		}
	case hasDefault:
		l.eval = func() any {
			v := s.withPlace(placeDefault, "the template expression in "+typ.place+" is not valid", fallback)
			typ.check(v)
			return v
		}
	case !typ.nullable():
		failNotGiven(name)
	}
}

// withPlace evaluates a value that may use more; what is what fails.
func (s *scope) withPlace(p place, what string, v any) any {
	defer within("%s", what)
	in := *s
	in.place |= p
	return in.value(v)
}

func (s *scope) declareVariables() {
	for name, raw := range s.template.Object("variables").All() {
		what := "the template variable '" + name + "' is not valid"
		list, isCopy := raw.([]any)
		if !isCopy || !strings.EqualFold(name, "copy") {
			s.variables.Set(name, &lazy{name: name, eval: func() any { return s.withPlace(placeCopy, what, raw) }})
			continue
		}
		for _, c := range list {
			def, _ := c.(*datum.Object)
			each := s.copyName(def)
			s.variables.Set(each, &lazy{name: each, eval: func() any {
				return s.withPlace(placeCopy, what, datum.New("copy", []any{def})).(*datum.Object).Values()[0]
			}})
		}
	}
}

// named returns the entries of a list of resources by symbolic name, or by their place in an array.
func named(raw any, place string) *datum.Object {
	list, isList := raw.([]any)
	if !isList {
		o, _ := raw.(*datum.Object)
		return o
	}
	items := &datum.Object{}
	for i, e := range list {
		items.Set(fmt.Sprintf("%s[%d]", place, i), e)
	}
	return items
}

// expandAll expands the resources of a template: an array, or an object by symbolic name
// (languageVersion 2.0).
func (t *Template) expandAll(template *datum.Object) {
	raw, _ := template.Get("resources")
	if want := cond(t.symbolic, kindObject, kindArray); kindOf(raw) != want {
		fail("'resources' of the template is of type '%s'; it has to be of type '%s', in languageVersion 2.0 an object of symbolic names",
			kindOf(raw), want)
	}
	t.expandEach(t.scope, named(raw, "resources"), nil)
	if n := len(t.Resources); n > maxResources && t.level == 0 {
		t.problem("the template has %d resources, more than the limit of %d", n, maxResources)
	}
}

func (t *Template) expandEach(s *scope, items *datum.Object, parent *Resource) {
	for key, v := range items.All() {
		o, is := v.(*datum.Object)
		if !is {
			fail("'%s' of the template is no resource", key)
		}
		t.expand(s, o, key, parent)
	}
}

// expand adds what one entry of a template's resources yields: a resource, or one for each round
// of its copy loop, with child resources.
func (t *Template) expand(s *scope, raw *datum.Object, key string, parent *Resource) {
	defer within("the template resource '%.200s' is not valid", cmp.Or(raw.Text("name"), key))
	def := raw.Object("copy")
	if def == nil {
		t.expandOne(s, raw, key, parent, "")
		return
	}
	name, count := s.copyName(def), s.copyCount(def)
	batch := s.batchOf(def)
	all := []*Resource{}
	for i := range count {
		r := t.expandOne(s.in(loop{name: name, index: i}), raw, key, parent, fmt.Sprintf("[%d]", i))
		if b := i / max(batch, 1); batch > 0 && b > 0 {
			r.after = slices.Clone(all[(b-1)*batch : b*batch])
		}
		all = append(all, r)
	}
	lower := strings.ToLower(name)
	t.loops[lower] = append(t.loops[lower], all...)
	if t.symbolic && parent == nil {
		t.loops[strings.ToLower(key)] = all
	}
}

// batchOf returns the batch size of a serial copy loop, 0 for others.
func (s *scope) batchOf(def *datum.Object) int64 {
	if !strings.EqualFold(def.Text("mode"), "serial") {
		return 0
	}
	raw, ok := def.Get("batchSize")
	n, _ := s.value(cond(ok, raw, any(int64(1)))).(int64)
	if n < 1 {
		fail("the batchSize of a 'copy' definition has to be a positive integer")
	}
	return n
}

// problem notes what the deployment service refuses.
func (t *Template) problem(format string, args ...any) {
	if p := fmt.Sprintf(format, args...); !slices.Contains(t.Problems, p) {
		t.Problems = append(t.Problems, p)
	}
}

// find finds a resource by ID, symbolic name, one of a loop as name[0], or by name.
func (t *Template) find(name string) *Resource {
	lower := strings.ToLower(name)
	return cmp.Or(t.byID[lower], t.byName[lower])
}

// nested expands the nested deployments that nothing referred to.
func (t *Template) nested() {
	for _, r := range t.Resources {
		if in := r.deployment(); in != nil {
			in.nested()
			for _, p := range in.Problems {
				t.problem("%s", p)
			}
		}
	}
}

// Output is one output of a template.
type Output struct {
	Name, Type string
	Value      any
	Secure     bool
}

// Outputs returns the template's outputs; live answers for deployed resources, nil if there are none. A
// template that says that it has no outputs has an empty list.
func (t *Template) Outputs(live Live) (out []Output, err error) {
	defer catch(&err)
	return t.outputsOf(live), nil
}

func (t *Template) outputsOf(live Live) []Output {
	var out []Output
	if t.outputs != nil {
		out = []Output{}
	}
	s := *t.scope
	s.live, s.place = live, s.place|placeRuntime
	for name := range t.outputs.All() {
		def := t.outputs.Object(name)
		typ := typeOf(s.template, def, "output '"+name+"'")
		v := s.condition(def)
		if kindOf(v)&kindBool == 0 {
			fail("the condition of the template %s is of type '%s'; it has to be a boolean", typ.place, kindOf(v))
		}
		if v == false {
			continue
		}
		o := Output{Name: name, Type: typ.name, Secure: typ.secure}
		if c := def.Object("copy"); c != nil {
			o.Value = s.rounds(c, s.copyCount(c), loop{name: name})
		} else {
			raw, _ := def.Get("value")
			o.Value = s.value(raw)
		}
		s.weigh(o.Value)
		typ.check(o.Value)
		out = append(out, o)
	}
	return out
}

// condition evaluates the condition of a resource or an output; without one it is true.
func (s *scope) condition(def *datum.Object) any {
	raw, has := def.Get("condition")
	return s.value(cond(has, raw, any(true)))
}
