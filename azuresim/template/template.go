package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/template/datum"
)

// Context is the scope to which a template is deployed, with its known properties.
type Context struct {
	Subscription, Tenant, Deployment string
	// Group is the resource group, "" for a deployment to the subscription.
	Group string
	// Location is the location of the group, or of the deployment to a subscription; "" if it is
	// not known.
	Location string
	Tags     *datum.Object
	// Environment and Deployer are the values of the functions with these names; nil if they are
	// known only at deployment.
	Environment, Deployer *datum.Object
	// Now and NewGUID are the values of utcNow and newGuid; without them the values are known only
	// at deployment.
	Now     time.Time
	NewGUID func() string
	// Existing returns the location of a resource group, "" if it is not known. It may be nil.
	Existing func(subscription, group string) string
	// HideSecrets leaves expressions in place of secure parameters, so that no output contains
	// them.
	HideSecrets bool
}

// Template is an expanded template with its parameters.
type Template struct {
	// Resources are in the order in which they can be deployed.
	Resources []*Resource
	// Parameters are the parameters with their values; parameters of secure types have no value.
	Parameters []Parameter
	// Problems are problems that the template language allows but the deployment service refuses:
	// circles, duplicates, and dependencies on resources that are not in the template.
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
	level     int // the number of deployments that contain it
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
	// maxLevels is the largest depth of nested deployments.
	maxLevels = 5
)

// New checks and expands a template: conditions, copies, dependencies and nested deployments. given
// maps the name of a parameter to {"value": ...}. Its errors are mistakes in the template or its
// parameters.
func New(template, given *datum.Object, c Context) (t *Template, err error) {
	defer catch(&err)
	t = build(template, given, &c, &run{parsed: map[string]node{}, table: table()}, nil, 0)
	t.nested()
	return t, nil
}

// build expands one template. outer is the scope in which the expressions of a nested deployment
// are evaluated; nil if the template has its own scope.
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

// declareParameter adds a parameter for later evaluation.
func (s *scope) declareParameter(name string, def, given *datum.Object) {
	defer within("the template parameter '%s'", name)
	typ := typeOf(s.template, def, "parameter '"+name+"'")
	hidden := datum.Later{Text: "parameters(" + show(name) + ")"}
	v, _ := given.Get("value")
	if ref, _ := given.Get("reference"); ref != nil {
		v = hidden // a reference to a secret of a key vault
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

// withPlace evaluates a value at a place; what is the name of the value in errors.
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

// named returns the entries of a list of resources by symbolic name, or by their index in an array.
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

// expand adds the resources of one entry of a template's resources: one, or one for each round of
// its copy loop, with child resources.
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

// batchOf returns the batch size of a serial copy loop; 0 for other loops.
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

// problem records a problem that the deployment service refuses.
func (t *Template) problem(format string, args ...any) {
	if p := fmt.Sprintf(format, args...); !slices.Contains(t.Problems, p) {
		t.Problems = append(t.Problems, p)
	}
}

// find returns the resource with an ID, a symbolic name (with [0] for the first one of a loop), or
// a name; nil if there is none.
func (t *Template) find(name string) *Resource {
	lower := strings.ToLower(name)
	return cmp.Or(t.byID[lower], t.byName[lower])
}

// nested expands the nested deployments to which nothing referred.
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

// Outputs returns the template's outputs; live returns values of deployed resources and may be nil.
// The result is an empty list for a template with an empty outputs object.
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

// condition evaluates the condition of a resource or an output; a missing condition is true.
func (s *scope) condition(def *datum.Object) any {
	raw, has := def.Get("condition")
	return s.value(cond(has, raw, any(true)))
}
