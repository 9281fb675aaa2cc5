package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Template is a template with its parameters, ready to be deployed.
type Template struct {
	// Resources are the resources whose condition is true, each after the resources that it
	// depends on.
	Resources []Resource
	// Parameters are the values of the parameters, without secure ones.
	Parameters map[string]Parameter

	scope   *scope
	outputs object
}

// Parameter is a parameter's declared type and value.
type Parameter struct {
	Type  string
	Value any
}

// Resource is one resource of a template.
type Resource struct {
	ID, Type, Name, APIVersion string
	// DependsOn are the IDs of the template's resources that are deployed before this one.
	DependsOn []string

	raw   object
	scope *scope
	names []string // in dependsOn: short name, type/name, copy loop
	deps  []string // as written
}

// declared is the declaration of a parameter in a template.
type declared struct {
	typ     string
	value   any
	given   bool
	allowed []any
}

// New checks a template and its parameters (name to {"value": ...}) and expands conditions,
// copies and dependencies. Its errors are mistakes in the template or its parameters.
func New(template, parameters object, c Context) (*Template, error) {
	if _, ok := template["resources"]; !ok {
		return nil, fmt.Errorf("required property 'resources' not found in the template")
	}
	s := &scope{Context: c, functions: functions(), parameters: object{}, variables: object{}, pending: object{}}
	s.resources = func(string) (string, bool) { return "", false }
	t := &Template{Parameters: map[string]Parameter{}, scope: s}
	t.outputs, _ = template["outputs"].(object)
	if err := t.takeParameters(template, parameters); err != nil {
		return nil, err
	}
	if err := t.takeVariables(template); err != nil {
		return nil, err
	}
	var all []Resource
	list, err := resourceList(template["resources"])
	if err != nil {
		return nil, err
	}
	for i, raw := range list {
		found, err := s.expand(raw, nil)
		if err != nil {
			return nil, fmt.Errorf("resources[%d]: %w", i, err)
		}
		all = append(all, found...)
	}
	return t, t.order(all)
}

// resourceList parses the resources of a template in both forms: an array, and an object by
// symbolic name (languageVersion 2.0).
func resourceList(v any) ([]object, error) {
	var out []object
	switch v := v.(type) {
	case nil:
	case []any:
		for _, e := range v {
			o, ok := e.(object)
			if !ok {
				return nil, fmt.Errorf("a resource is no object")
			}
			out = append(out, o)
		}
	case object:
		return nil, fmt.Errorf("symbolic names (languageVersion 2.0) are not supported")
	default:
		return nil, fmt.Errorf("'resources' is no array")
	}
	return out, nil
}

func (t *Template) takeParameters(template, given object) error {
	wanted, _ := template["parameters"].(object)
	for name := range given {
		if _, err := member(wanted, name); err != nil {
			return fmt.Errorf("the following parameters were supplied, but do not correspond to any parameters "+
				"defined in the template: '%s'", name)
		}
	}
	for _, name := range sortedKeys(wanted) {
		d, ok := wanted[name].(object)
		if !ok {
			return fmt.Errorf("parameter %s: its declaration is no object", name)
		}
		p := declared{typ: text(d["type"])}
		p.allowed, _ = d["allowedValues"].([]any)
		if g, err := member(given, name); err == nil {
			o, _ := g.(object)
			p.value, p.given = o["value"], o != nil
			if _, secret := o["reference"]; secret {
				return fmt.Errorf("parameter %s: references to key vaults are not supported", name)
			}
		}
		if raw, ok := d["defaultValue"]; ok && !p.given {
			v, err := t.scope.value(raw)
			if err != nil {
				return fmt.Errorf("parameter %s: defaultValue: %w", name, err)
			}
			p.value, p.given = v, true
		}
		if err := p.check(name); err != nil {
			return err
		}
		t.scope.parameters[name] = p.value
		if !strings.HasPrefix(strings.ToLower(p.typ), "secure") {
			t.Parameters[name] = Parameter{Type: p.typ, Value: p.value}
		}
	}
	return nil
}

func (p declared) check(name string) error {
	if !p.given {
		return fmt.Errorf("the value for the template parameter '%s' is not provided", name)
	}
	ok := true
	switch strings.ToLower(p.typ) {
	case "string", "securestring":
		_, ok = p.value.(string)
	case "int":
		_, ok = p.value.(float64)
	case "bool":
		_, ok = p.value.(bool)
	case "array":
		_, ok = p.value.([]any)
	case "object", "secureobject":
		_, ok = p.value.(object)
	default:
		return fmt.Errorf("parameter %s: the type '%s' is not one of string, int, bool, array, object, "+
			"secureString, secureObject", name, p.typ)
	}
	if !ok && p.value != nil {
		return fmt.Errorf("the provided value for the template parameter '%s' is not of the type %s", name, p.typ)
	}
	if len(p.allowed) > 0 && !slices.ContainsFunc(p.allowed, func(a any) bool { return equal(a, p.value) }) {
		return fmt.Errorf("the provided value for the template parameter '%s' is not one of the allowed values %s", name, asText(p.allowed))
	}
	return nil
}

func (t *Template) takeVariables(template object) error {
	vars, _ := template["variables"].(object)
	for name, raw := range vars {
		if name == "copy" {
			loops, ok := raw.([]any)
			if !ok {
				return fmt.Errorf("variables: copy is no array")
			}
			if err := t.scope.propertyCopies(loops, t.scope.variables); err != nil {
				return fmt.Errorf("variables: %w", err)
			}
			continue
		}
		t.scope.pending[name] = raw
	}
	return nil
}

// expand returns the resources that one entry of the template describes: none if its
// condition is false, several for a copy loop, and its child resources.
func (s *scope) expand(raw object, parent *Resource) ([]Resource, error) {
	loop, ok := raw["copy"].(object)
	if !ok {
		return s.expandOne(raw, parent, "")
	}
	name := text(loop["name"])
	var out []Resource
	_, err := s.loop(name, loop["count"], func(in *scope) (any, error) {
		r, err := in.expandOne(raw, parent, name)
		out = append(out, r...)
		return nil, err
	})
	return out, err
}

func (s *scope) expandOne(raw object, parent *Resource, loop string) ([]Resource, error) {
	if c, ok := raw["condition"]; ok {
		v, err := s.value(c)
		if err != nil {
			return nil, fmt.Errorf("condition: %w", err)
		}
		if v == false {
			return nil, nil
		}
	}
	r := Resource{raw: raw, scope: s}
	for _, f := range []struct {
		key  string
		into *string
	}{{"type", &r.Type}, {"name", &r.Name}, {"apiVersion", &r.APIVersion}} {
		v, err := s.value(raw[f.key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		if *f.into = text(v); *f.into == "" {
			return nil, fmt.Errorf("a resource needs a %s", f.key)
		}
	}
	if parent != nil && !strings.Contains(r.Type, ".") {
		r.Type, r.Name = parent.Type+"/"+r.Type, parent.Name+"/"+r.Name
	}
	id, err := s.idOf(raw, r.Type, r.Name)
	if err != nil {
		return nil, err
	}
	r.ID = id
	r.names = []string{strings.ToLower(r.ID), strings.ToLower(r.Name), strings.ToLower(r.Type + "/" + r.Name), strings.ToLower(loop)}
	deps, _ := raw["dependsOn"].([]any)
	for _, d := range deps {
		v, err := s.value(d)
		if err != nil {
			return nil, fmt.Errorf("%s: dependsOn: %w", r.Name, err)
		}
		r.deps = append(r.deps, strings.ToLower(text(v)))
	}
	if parent != nil {
		r.deps = append(r.deps, strings.ToLower(parent.ID))
	}
	out := []Resource{r}
	children, err := resourceList(raw["resources"])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	for _, c := range children {
		found, err := s.expand(c, &r)
		if err != nil {
			return nil, fmt.Errorf("%s: resources: %w", r.Name, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// idOf returns the ID of a resource; if it has a scope, the ID begins with the scope's.
func (s *scope) idOf(raw object, typ, name string) (string, error) {
	group := s.Group
	if g, ok := raw["resourceGroup"]; ok {
		v, err := s.value(g)
		if err != nil {
			return "", fmt.Errorf("resourceGroup: %w", err)
		}
		group = text(v)
	}
	base := "/subscriptions/" + s.Subscription + "/resourceGroups/" + group
	if on, ok := raw["scope"]; ok {
		v, err := s.value(on)
		if err != nil {
			return "", fmt.Errorf("scope: %w", err)
		}
		base = text(v)
		if !strings.HasPrefix(base, "/") && strings.Contains(base, "/") {
			return "", fmt.Errorf("scope: %q is no resource ID", base)
		}
	}
	// The type of an extension on a resource may be written as type/providers/extension.
	if owner, extension, ok := strings.Cut(typ, "/providers/"); ok {
		names := strings.Split(name, "/")
		n := strings.Count(owner, "/")
		if len(names) < n+2 {
			return "", fmt.Errorf("the name %s does not fit the type %s", name, typ)
		}
		on, err := typed(base, []any{owner, strings.Join(names[:n], "/")})
		if err != nil {
			return "", err
		}
		base, typ, name = text(on), extension, strings.Join(names[n+1:], "/")
	}
	id, err := typed(base, []any{typ, name})
	return text(id), err
}

// order sorts the resources so that each comes after those that it depends on, by dependsOn
// and by its references.
func (t *Template) order(all []Resource) error {
	t.scope.resources = func(name string) (string, bool) {
		for _, r := range all {
			if slices.Contains(r.names, strings.ToLower(name)) {
				return r.ID, true
			}
		}
		return "", false
	}
	byName := map[string][]int{}
	for i, r := range all {
		for _, n := range r.names {
			if n != "" {
				byName[n] = append(byName[n], i)
			}
		}
	}
	for i := range all {
		r := &all[i]
		r.scope.resources = t.scope.resources
		deps := r.deps
		r.scope.seen = func(id string) { deps = append(deps, strings.ToLower(id)) }
		raw, _ := inner(r.raw)
		_, err := r.scope.value(withoutMeta(raw))
		r.scope.seen = nil
		if err != nil && !errors.Is(err, errLater) {
			return fmt.Errorf("resource %s: %w", r.Name, err)
		}
		for _, d := range deps {
			for _, j := range byName[d] {
				if j != i {
					r.DependsOn = append(r.DependsOn, all[j].ID)
				}
			}
		}
		slices.Sort(r.DependsOn)
		r.DependsOn = slices.Compact(r.DependsOn)
	}
	return t.sort(all)
}

func (t *Template) sort(all []Resource) error {
	done := map[string]bool{}
	for len(done) < len(all) {
		before := len(done)
		for _, r := range all {
			if !done[r.ID] && !slices.ContainsFunc(r.DependsOn, func(d string) bool { return !done[d] }) {
				done[r.ID] = true
				t.Resources = append(t.Resources, r)
			}
		}
		if len(done) != before {
			continue
		}
		var left []string
		seen := map[string]bool{}
		for _, r := range all {
			if seen[r.ID] {
				return fmt.Errorf("the resource '%s' is defined multiple times in the template", r.ID)
			}
			seen[r.ID] = true
			if !done[r.ID] {
				left = append(left, r.Name)
			}
		}
		if len(left) == 0 {
			return nil
		}
		return fmt.Errorf("circular dependency detected on resources: %s", strings.Join(left, ", "))
	}
	return nil
}

// meta are the keys of a resource in a template that are not part of the body of the PUT.
var meta = []string{"type", "name", "apiVersion", "dependsOn", "condition", "copy", "resources", "scope",
	"comments", "resourceGroup", "subscriptionId"}

func withoutMeta(raw object) object {
	out := object{}
	for k, v := range raw {
		if !slices.Contains(meta, k) {
			out[k] = v
		}
	}
	return out
}

// inner removes the template of a nested deployment from raw, if that template is evaluated
// in a scope of its own.
func inner(raw object) (rest object, template any) {
	p, _ := raw["properties"].(object)
	o, _ := p["expressionEvaluationOptions"].(object)
	if !strings.EqualFold(text(o["scope"]), "inner") {
		return raw, nil
	}
	rest, p = maps.Clone(raw), maps.Clone(p)
	template = p["template"]
	delete(p, "template")
	rest["properties"] = p
	return rest, template
}

// Body returns the body of the resource's PUT; ref evaluates calls of reference() in it.
func (r Resource) Body(ref Reference) (map[string]any, error) {
	s := *r.scope
	s.reference = ref
	raw, nested := inner(r.raw)
	v, err := s.value(withoutMeta(raw))
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", r.Name, err)
	}
	o, _ := v.(object)
	if p, ok := o["properties"].(object); ok && nested != nil {
		p["template"] = nested
	}
	return o, nil
}

// Outputs returns the template's outputs, by name, each as {"type", "value"}.
func (t *Template) Outputs(ref Reference) (map[string]any, error) {
	s := *t.scope
	s.reference = ref
	out := object{}
	for _, name := range sortedKeys(t.outputs) {
		o, ok := t.outputs[name].(object)
		if !ok {
			return nil, fmt.Errorf("output %s is no object", name)
		}
		if c, ok := o["condition"]; ok {
			if v, err := s.value(c); err != nil || v == false {
				if err != nil {
					return nil, fmt.Errorf("output %s: %w", name, err)
				}
				continue
			}
		}
		v, err := s.value(o["value"])
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		typ := text(o["type"])
		if strings.HasPrefix(strings.ToLower(typ), "secure") {
			out[name] = object{"type": title(typ)}
			continue
		}
		out[name] = object{"type": title(typ), "value": v}
	}
	return out, nil
}

// title returns a type's name as answers about deployments spell it: String for string.
func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func sortedKeys(o object) []string {
	out := make([]string, 0, len(o))
	for k := range o {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
