package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Resource is one resource of a template.
type Resource struct {
	ID, Type, Name, APIVersion string
	// Existing says that the template refers to the resource and does not deploy it.
	Existing bool
	// DependsOn are the IDs of the template's resources that are deployed before this one.
	DependsOn []string

	template *Template
	raw      *Object
	scope    *scope
	parent   *Resource
	on       []*Resource // what it depends on, deployed or not
	after    []*Resource // the rounds before it, of a serial loop
	skipped  bool        // its condition is false
	// condition is what its condition is, if it is no boolean.
	condition any
	profiled  bool     // its API version is that of the template's profile
	target    *Context // of a nested deployment
	expanded  *Template
	body      *Object
	busy      bool
}

// Deployed reports whether the template deploys the resource: it is not there already and its
// condition is true.
func (r *Resource) Deployed() bool { return !r.Existing && !r.skipped }

// IsDeployment reports whether the resource is a nested deployment.
func (r *Resource) IsDeployment() bool {
	return strings.EqualFold(r.Type, "Microsoft.Resources/deployments")
}

// text evaluates a property that has to be a text; what is known later is the text of its expression.
func (s *scope) text(raw *Object, key string) (string, error) {
	v, ok := raw.Get(key)
	if !ok || v == nil {
		return "", nil
	}
	v, err := s.value(v)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case later:
		return "[" + v.text + "]", nil
	}
	return "", fmt.Errorf("'%s' is of type '%s'; it has to be a text", key, kindOf(v))
}

func (t *Template) expandOne(s *scope, raw *Object, key string, parent *Resource, index string) (*Resource, error) {
	in := *s
	r := &Resource{template: t, raw: raw, scope: &in, parent: parent}
	fail := func(err error) (*Resource, error) {
		return nil, fmt.Errorf("the template resource '%s' is not valid: %w", cut(cmpText(raw.Text("name"), key), 200), err)
	}
	if v, _ := raw.Get("existing"); v == true {
		r.Existing = true
	}
	if c, ok := raw.Get("condition"); ok {
		v, err := s.value(c)
		if err != nil {
			return fail(fmt.Errorf("condition: %w", err))
		}
		if on, is := v.(bool); is {
			r.skipped = !on
		} else {
			if r.condition = v; !isLater(v) {
				t.problem("the condition of the resource '%s' is of type '%s'; it has to be a boolean", raw.Text("name"), kindOf(v))
			}
		}
	}
	if err := r.identify(); err != nil {
		if r.skipped {
			return r, nil // a resource that is not deployed may have a name that cannot be evaluated
		}
		return fail(err)
	}
	t.Resources = append(t.Resources, r)
	t.index(r, key, index)
	list, _ := raw.Get("resources")
	children := &Object{}
	switch l := list.(type) {
	case []any:
		for i, c := range l {
			children.add(fmt.Sprintf("%s.resources[%d]", key, i), c)
		}
	case *Object:
		children = l
	}
	for i, name := range children.keys {
		c, is := children.values[i].(*Object)
		if !is {
			return fail(errors.New("one of its 'resources' is no resource"))
		}
		if err := t.expand(&in, c, name, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// index notes the names that a resource can be referred to by.
func (t *Template) index(r *Resource, key, index string) {
	if t.byID[strings.ToLower(r.ID)] == nil || !r.skipped {
		t.byID[strings.ToLower(r.ID)] = r
	}
	short := r.Name[strings.LastIndexByte(r.Name, '/')+1:]
	names := []string{r.Name, r.Type + "/" + r.Name, interleaved(r.Type, r.Name), short}
	if t.symbolic {
		names = append([]string{key + index}, names...)
	}
	for i, n := range names {
		// A symbolic name counts before a name, and what is deployed before what is not.
		old := t.byName[strings.ToLower(n)]
		if old == nil || i == 0 && t.symbolic || old.skipped && !r.skipped {
			t.byName[strings.ToLower(n)] = r
		}
	}
}

// interleaved returns the ID below a group without its beginning: Microsoft.A/b/x/c/y.
func interleaved(typ, name string) string {
	parts, names := strings.Split(typ, "/"), strings.Split(name, "/")
	out := parts[0]
	for i, t := range parts[1:] {
		out += "/" + t
		if i < len(names) {
			out += "/" + names[i]
		}
	}
	return out
}

// identify evaluates the type, name, version and ID of a resource.
func (r *Resource) identify() (err error) {
	s, raw := r.scope, r.raw
	if r.Type, err = s.text(raw, "type"); err == nil {
		if r.Name, err = s.text(raw, "name"); err == nil {
			r.APIVersion, err = s.text(raw, "apiVersion")
		}
	}
	switch {
	case err != nil:
		return err
	case r.Type == "":
		return errors.New("the type property cannot be null or empty")
	case r.Name == "":
		return fmt.Errorf("the name property of a resource of type '%s' cannot be null or empty", r.Type)
	}
	if r.parent != nil && !strings.Contains(strings.SplitN(r.Type, "/", 2)[0], ".") {
		r.Type, r.Name = r.parent.Type+"/"+r.Type, r.parent.Name+"/"+r.Name
	}
	if r.APIVersion == "" {
		r.profiled = true
		if r.APIVersion = profileVersion(s.template.Text("apiProfile"), r.Type); r.APIVersion == "" {
			return fmt.Errorf("the api-version property is not defined. The api-profile '%s' for the template does not match any valid "+
				"api-version for the resource type '%s'", s.template.Text("apiProfile"), r.Type)
		}
	}
	return r.locate()
}

// locate finds the ID of a resource and, for a nested deployment, where it deploys to.
func (r *Resource) locate() error {
	s := r.scope
	place := *r.template.Context
	if r.IsDeployment() || r.Existing {
		sub, err := s.text(r.raw, "subscriptionId")
		if err != nil {
			return err
		}
		group, err := s.text(r.raw, "resourceGroup")
		if err != nil {
			return err
		}
		if sub != "" || group != "" {
			place.Subscription, place.Group = cmpText(sub, place.Subscription), group
			if !strings.EqualFold(place.base(), r.template.base()) {
				place.Location, place.Tags = "", nil
				if s.Existing != nil && group != "" {
					place.Location = s.Existing(place.Subscription, group)
				}
			}
		}
	}
	base := place.base()
	on, err := s.text(r.raw, "scope")
	if err != nil {
		return err
	}
	switch {
	case on == "" || r.IsDeployment() && strings.HasPrefix(on, "[later"):
	case on == "/" || strings.HasPrefix(strings.ToLower(on), "/providers/microsoft.management/") ||
		strings.HasPrefix(strings.ToLower(on), "microsoft.management/managementgroups"):
		if r.IsDeployment() {
			return errors.New("deployments to a tenant or a management group are not supported by the local Azure")
		}
		base = "/" + strings.Trim("/providers/"+strings.TrimPrefix(strings.TrimPrefix(on, "/"), "providers/"), "/")
		if on == "/" {
			base = ""
		}
	case strings.HasPrefix(on, "/") || strings.HasPrefix(on, "["):
		base = strings.TrimSuffix(on, "/")
	default:
		base += "/providers/" + strings.TrimSuffix(on, "/")
	}
	if r.IsDeployment() {
		place.Deployment = r.Name
		if on != "" {
			parts := strings.Split(base, "/")
			if len(parts) < 3 || !strings.EqualFold(parts[1], "subscriptions") {
				return fmt.Errorf("the scope '%s' of a nested deployment is no subscription or resource group", on)
			}
			place.Subscription, place.Group, place.Location = parts[2], "", ""
			if len(parts) > 4 {
				place.Group = parts[4]
			}
		}
		if place.Group == "" {
			l, err := s.text(r.raw, "location")
			if err != nil {
				return err
			}
			place.Location = cmpText(l, place.Location)
		}
		r.target = &place
	}
	if strings.EqualFold(r.Type, "Microsoft.Resources/resourceGroups") {
		r.ID = groupID(place.Subscription, r.Name)
		return nil
	}
	typ, name := r.Type, r.Name
	// The type of an extension on a resource may be written as type/providers/extension.
	if owner, extension, ok := strings.Cut(typ, "/providers/"); ok {
		names := strings.Split(name, "/")
		n := strings.Count(owner, "/")
		if len(names) < n+2 {
			return errSegments(r, n+2)
		}
		if base, err = idBelow(base, owner, names[:n], r); err != nil {
			return err
		}
		typ, name = extension, strings.Join(names[n+1:], "/")
		if !strings.Contains(strings.SplitN(extension, "/", 2)[0], ".") {
			typ = names[n] + "/" + extension
		} else {
			name = strings.Join(names[n:], "/")
		}
	}
	r.ID, err = idBelow(base, typ, strings.Split(name, "/"), r)
	return err
}

func errSegments(r *Resource, want int) error {
	return fmt.Errorf("the resource of type '%s' has an invalid name. The name '%s' contains '%d' name segment(s) separated by '/', but "+
		"'%d' segment(s) were expected", r.Type, r.Name, strings.Count(r.Name, "/")+1, want)
}

// idBelow returns the ID of a type and its names.
func idBelow(base, typ string, names []string, r *Resource) (string, error) {
	parts := strings.Split(strings.Trim(typ, "/"), "/")
	if strings.HasPrefix(r.Name, "[") && len(parts)-1 != len(names) {
		return "[" + strings.Trim(r.Name, "[]") + "]", nil // the name is known later
	}
	if len(parts)-1 != len(names) || len(parts) < 2 {
		return "", errSegments(r, len(parts)-1)
	}
	out := base + "/providers/" + parts[0]
	for i, t := range parts[1:] {
		out += "/" + t + "/" + names[i]
	}
	return out, nil
}

// sent are the properties of a resource that are part of what is sent to its provider.
var sent = []string{"location", "extendedLocation", "sku", "kind", "tags", "zones", "identity", "plan", "managedBy", "managedByExtended",
	"placement", "scale", "etag", "properties"}

// bodyIn evaluates the body of the resource.
func (r *Resource) bodyIn(s *scope) (*Object, error) {
	in := *s
	out := &Object{}
	for k, v := range r.raw.All() {
		if !slices.Contains(sent, k) {
			if i := slices.IndexFunc(sent, func(w string) bool { return strings.EqualFold(w, k) }); i < 0 {
				continue
			} else {
				k = sent[i]
			}
		}
		if r.IsDeployment() && k == "properties" {
			v = withoutTemplate(v)
		}
		in.place |= placeRuntime
		if in.place &^= placeCopy; k == "properties" || k == "identity" || k == "zones" || k == "tags" {
			in.place |= placeCopy
		}
		e, err := in.value(v)
		if err != nil {
			return nil, err
		}
		if e != nil {
			out.Set(k, e)
		}
	}
	_, err := s.weigh(out)
	return out, err
}

// withoutTemplate returns the properties of a nested deployment without its template.
func withoutTemplate(v any) any {
	p, is := v.(*Object)
	if !is {
		return v
	}
	out := &Object{}
	for k, e := range p.All() {
		if !strings.EqualFold(k, "template") {
			out.Set(k, e)
		}
	}
	return out
}

// known returns what the template says of a resource that it deploys: the outputs of a nested
// deployment, or its properties.
func (r *Resource) known(full bool) (v any, sealed bool, err error) {
	if !r.Deployed() || r.busy || r.template.scope == nil {
		return nil, false, nil
	}
	r.busy = true
	defer func() { r.busy = false }()
	if r.IsDeployment() {
		in, err := r.inner()
		if err != nil || in == nil {
			return nil, false, err
		}
		out, err := in.outputsObject()
		if err != nil {
			return nil, false, err
		}
		p := NewObject("mode", "Incremental", "provisioningState", "Succeeded", "outputs", out)
		if full {
			p = NewObject("id", r.ID, "name", r.Name, "type", r.Type, "properties", p)
		}
		return p, true, nil
	}
	if r.body == nil {
		if r.body, err = r.bodyIn(r.scope); err != nil {
			return nil, false, err
		}
	}
	if full {
		return r.body, false, nil
	}
	p, _ := r.body.Get("properties")
	if o, is := p.(*Object); is {
		return o, false, nil
	}
	return nil, false, nil
}

// outputsObject returns the outputs as references to the deployment show them.
func (t *Template) outputsObject() (*Object, error) {
	if t.evaluated != nil || t.busy {
		return t.evaluated, nil
	}
	t.busy = true
	defer func() { t.busy = false }()
	list, err := t.Outputs(nil)
	if err != nil {
		return nil, err
	}
	t.evaluated = &Object{}
	for _, o := range list {
		t.evaluated.Set(o.Name, NewObject("type", o.Type, "value", o.Value))
	}
	return t.evaluated, nil
}

// nestedTemplate returns the template of a nested deployment, and whether its expressions are
// evaluated in a scope of its own.
func (r *Resource) nestedTemplate() (template *Object, inner bool, err error) {
	p := r.raw.Object("properties")
	options := p.Object("expressionEvaluationOptions")
	template = p.Object("template")
	if template == nil {
		if link := p.Object("templateLink"); link != nil {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("the nested deployment '%s' has no template", r.Name)
	}
	scope, err := r.scope.text(options, "scope")
	return template, strings.EqualFold(scope, "inner"), err
}

// Linked reports that the resource is a deployment whose template is elsewhere.
func (r *Resource) Linked() bool {
	return r.IsDeployment() && r.raw.Object("properties").Object("template") == nil
}

// inner returns the expanded template of a nested deployment, nil for one that is a link.
func (r *Resource) inner() (*Template, error) {
	if r.expanded != nil || r.Linked() {
		return r.expanded, nil
	}
	raw, inner, err := r.nestedTemplate()
	if err != nil {
		return nil, err
	}
	s := *r.scope
	s.place |= placeRuntime | placeCopy
	if r.template.level >= maxLevels {
		return nil, fmt.Errorf("the nested deployment '%s' is more than %d levels deep", r.Name, maxLevels)
	}
	if group := r.template.find(r.target.base()); group != nil && r.target.Group != "" && r.target.Location == "" {
		// The group that it deploys to is one that the template makes.
		if r.target.Location, err = group.scope.text(group.raw, "location"); err != nil || strings.HasPrefix(r.target.Location, "[") {
			r.target.Location = ""
		}
	}
	given, err := r.given(&s)
	if err != nil {
		return nil, err
	}
	var outer *scope
	if !inner {
		outer = r.scope
	}
	r.expanded, err = build(raw, given, r.target, s.run, outer, r.template.level+1)
	if err != nil {
		return nil, fmt.Errorf("the nested deployment '%s': %w", r.Name, err)
	}
	return r.expanded, nil
}

// given returns the parameters of a nested deployment.
func (r *Resource) given(s *scope) (*Object, error) {
	p, _ := r.raw.Object("properties").Get("parameters")
	v, err := s.value(p)
	if err != nil {
		return nil, fmt.Errorf("the template resource '%s' is not valid: %w", r.Name, err)
	}
	o, _ := v.(*Object)
	return o, nil
}

// profiles are the API versions of profiles, by namespace; * is any other type.
// Source: https://learn.microsoft.com/azure-stack/user/azure-stack-profiles-azure-resource-manager-versions.
var profiles = map[string]map[string]string{
	"2018-03-01-hybrid": {"microsoft.compute": "2017-03-30", "microsoft.network": "2017-10-01", "microsoft.storage": "2016-01-01",
		"microsoft.keyvault": "2016-10-01", "microsoft.resources": "2016-06-01", "microsoft.authorization": "2015-07-01",
		"microsoft.insights": "2015-11-01"},
	"2019-03-01-hybrid": {"microsoft.compute": "2017-12-01", "microsoft.network": "2017-10-01", "microsoft.storage": "2017-10-01",
		"microsoft.keyvault": "2016-10-01", "microsoft.resources": "2018-05-01", "microsoft.authorization": "2016-09-01",
		"microsoft.insights": "2018-01-01"},
	"2020-09-01-hybrid": {"microsoft.compute": "2020-06-01", "microsoft.network": "2018-11-01", "microsoft.storage": "2019-06-01",
		"microsoft.keyvault": "2019-09-01", "microsoft.resources": "2019-10-01", "microsoft.authorization": "2016-09-01",
		"microsoft.insights": "2018-01-01"},
}

// profileVersion returns the API version of a type in a profile, "" if it has none.
func profileVersion(profile, typ string) string {
	space, _, _ := strings.Cut(strings.ToLower(typ), "/")
	return profiles[strings.ToLower(profile)][space]
}
