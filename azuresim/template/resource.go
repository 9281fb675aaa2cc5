package template

import (
	"cmp"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

// Resource is one resource of a template.
type Resource struct {
	ID, Type, Name, APIVersion string
	// Existing means that the template refers to the resource and does not deploy it.
	Existing bool
	// DependsOn contains the IDs of the template's resources that are deployed before this one.
	DependsOn []string

	template *Template
	raw      *datum.Object
	scope    *scope
	parent   *Resource
	on       []*Resource // dependencies, deployed or not
	after    []*Resource // the previous rounds of a serial loop
	// condition is a boolean or a Later. Any other value is a problem of the template.
	condition any
	profiled  bool     // the API version is from the template's profile
	target    *Context // for a nested deployment
	expanded  *Template
	body      *datum.Object
	busy      bool
}

// Deployed reports whether the template deploys the resource: it is not marked as existing and its
// condition is not false.
func (r *Resource) Deployed() bool { return !r.Existing && !r.skipped() }

// skipped reports whether the resource's condition is false.
func (r *Resource) skipped() bool { return r.condition == false }

// IsDeployment reports whether the resource is a nested deployment.
func (r *Resource) IsDeployment() bool {
	return strings.EqualFold(r.Type, "Microsoft.Resources/deployments")
}

func (t *Template) expandOne(s *scope, raw *datum.Object, key string, parent *Resource, index string) *Resource {
	t.scope.spend(resourceWork)
	in := *s
	r := &Resource{template: t, raw: raw, scope: &in, parent: parent, Existing: datum.At[bool](raw, "existing")}
	if r.condition = s.condition(raw); kindOf(r.condition)&kindBool == 0 {
		t.problem("the condition of the resource '%s' is of type '%s'; it has to be a boolean", raw.Text("name"), kindOf(r.condition))
	}
	identify := func() any { r.identify(); return nil }
	if !r.skipped() {
		identify()
	} else if _, ok := attempt(identify); !ok {
		return r // the name of a resource that is not deployed need not be valid
	}
	t.Resources = append(t.Resources, r)
	t.index(r, key, index)
	children, _ := raw.Get("resources")
	t.expandEach(&in, named(children, key+".resources"), r)
	return r
}

// index records the names by which expressions can refer to a resource.
func (t *Template) index(r *Resource, key, index string) {
	// A symbolic name has precedence over a name, and a deployed resource over one that is not
	// deployed.
	note := func(in map[string]*Resource, name string, first bool) {
		lower := strings.ToLower(name)
		if old := in[lower]; old == nil || first || old.skipped() && !r.skipped() {
			in[lower] = r
		}
	}
	note(t.byID, r.ID, !r.skipped())
	if t.symbolic {
		note(t.byName, key+index, true)
	}
	names := strings.Split(r.Name, "/")
	for _, n := range []string{r.Name, r.Type + "/" + r.Name, interleaved(r.Type, names), names[len(names)-1]} {
		note(t.byName, n, false)
	}
}

// interleaved returns the part of an ID that follows the group: Microsoft.A/b/x/c/y.
func interleaved(typ string, names []string) string {
	parts := strings.Split(typ, "/")
	out := parts[0]
	for i, t := range parts[1:] {
		if out += "/" + t; i < len(names) {
			out += "/" + names[i]
		}
	}
	return out
}

// isProvider reports whether a type begins with the namespace of a provider.
func isProvider(typ string) bool {
	space, _, _ := strings.Cut(typ, "/")
	return strings.Contains(space, ".")
}

// identify evaluates the type, name, version and ID of a resource.
func (r *Resource) identify() {
	s := r.scope
	r.Type, r.Name, r.APIVersion = s.text(r.raw, "type"), s.text(r.raw, "name"), s.text(r.raw, "apiVersion")
	switch {
	case r.Type == "":
		fail("the type property cannot be null or empty")
	case r.Name == "":
		fail("the name property of a resource of type '%s' cannot be null or empty", r.Type)
	}
	if r.parent != nil && !isProvider(r.Type) {
		r.Type, r.Name = r.parent.Type+"/"+r.Type, r.parent.Name+"/"+r.Name
	}
	if r.APIVersion == "" {
		r.profiled = true
		if r.APIVersion = profileVersion(s.template.Text("apiProfile"), r.Type); r.APIVersion == "" {
			fail("the api-version property is not defined. The api-profile '%s' for the template does not match any valid api-version for "+
				"the resource type '%s'", s.template.Text("apiProfile"), r.Type)
		}
	}
	r.locate()
}

// locate determines the ID of a resource and, for a nested deployment, its scope.
func (r *Resource) locate() {
	s, place := r.scope, *r.template.Context
	if r.IsDeployment() || r.Existing {
		sub, group := s.text(r.raw, "subscriptionId"), s.text(r.raw, "resourceGroup")
		if sub != "" || group != "" {
			place.Subscription, place.Group = cmp.Or(sub, place.Subscription), group
		}
		if !strings.EqualFold(place.base(), r.template.base()) {
			place.Location, place.Tags = "", nil
			if s.Existing != nil && group != "" {
				place.Location = s.Existing(place.Subscription, group)
			}
		}
	}
	on := s.text(r.raw, "scope")
	base := r.scopeID(place.base(), on)
	if r.IsDeployment() {
		r.target = r.deploysTo(place, base, on)
	}
	typ, names := r.Type, strings.Split(r.Name, "/")
	switch owner, extension, ok := strings.Cut(typ, "/providers/"); {
	case strings.EqualFold(typ, "Microsoft.Resources/resourceGroups"):
		r.ID = groupID(place.Subscription, r.Name)
		return
	case ok: // the type of an extension resource can be written as type/providers/extension
		n := strings.Count(owner, "/")
		if len(names) < n+2 {
			r.failSegments(n + 2)
		}
		base, typ = r.idBelow(base, owner, names[:n]), extension
		if names = names[n:]; !isProvider(extension) {
			typ, names = names[0]+"/"+extension, names[1:]
		}
	}
	r.ID = r.idBelow(base, typ, names)
}

// scopeID returns the ID of the scope of a resource: base, unless on, the resource's scope
// property, names another.
func (r *Resource) scopeID(base, on string) string {
	lower := strings.ToLower(on)
	switch {
	case on == "":
		return base
	case on == "/", strings.HasPrefix(lower, "/providers/microsoft.management/"),
		strings.HasPrefix(lower, "microsoft.management/managementgroups"):
		if r.IsDeployment() {
			fail("deployments to a tenant or a management group are not supported by the local Azure")
		}
		return cond(on == "/", "", "/providers/"+strings.TrimPrefix(strings.Trim(on, "/"), "providers/"))
	case on[0] == '/' || on[0] == '[':
		return strings.TrimSuffix(on, "/")
	}
	return base + "/providers/" + strings.TrimSuffix(on, "/")
}

// deploysTo returns the context to which a nested deployment deploys.
func (r *Resource) deploysTo(place Context, base, on string) *Context {
	place.Deployment = r.Name
	if on != "" {
		parts := strings.Split(base, "/")
		if len(parts) < 3 || !strings.EqualFold(parts[1], "subscriptions") {
			fail("the scope '%s' of a nested deployment is no subscription or resource group", on)
		}
		place.Subscription, place.Group, place.Location = parts[2], "", ""
		if len(parts) > 4 {
			place.Group = parts[4]
		}
	}
	if place.Group == "" {
		place.Location = cmp.Or(r.scope.text(r.raw, "location"), place.Location)
	}
	return &place
}

func (r *Resource) failSegments(want int) {
	fail("the resource of type '%s' has an invalid name. The name '%s' contains '%d' name segment(s) separated by '/', but '%d' "+
		"segment(s) were expected", r.Type, r.Name, strings.Count(r.Name, "/")+1, want)
}

// idBelow returns the ID of a resource with a type and names below base.
func (r *Resource) idBelow(base, typ string, names []string) string {
	typ = strings.Trim(typ, "/")
	n := strings.Count(typ, "/")
	if n != len(names) && strings.HasPrefix(r.Name, "[") {
		return "[" + strings.Trim(r.Name, "[]") + "]" // the name is known only at deployment
	}
	if n != len(names) || n == 0 {
		r.failSegments(n)
	}
	return base + "/providers/" + interleaved(typ, names)
}

// sent lists the properties of a resource that are sent to its provider.
var sent = []string{"location", "extendedLocation", "sku", "kind", "tags", "zones", "identity", "plan", "managedBy", "managedByExtended",
	"placement", "scale", "etag", "properties"}

// bodyIn evaluates the body of the resource.
func (r *Resource) bodyIn(s *scope) *datum.Object {
	in, out := *s, &datum.Object{}
	for k, v := range r.raw.All() {
		i := slices.IndexFunc(sent, func(w string) bool { return strings.EqualFold(w, k) })
		if i < 0 {
			continue
		}
		k = sent[i]
		if p, is := v.(*datum.Object); is && r.IsDeployment() && k == "properties" {
			v = p.Without("template")
		}
		in.place |= placeRuntime
		if in.place &^= placeCopy; k == "properties" || k == "identity" || k == "zones" || k == "tags" {
			in.place |= placeCopy
		}
		if e := in.value(v); e != nil {
			out.Set(k, e)
		}
	}
	s.weigh(out)
	return out
}

// known returns the properties of a resource that the template contains, or the outputs of a nested
// deployment. sealed means that these are all its properties.
func (r *Resource) known(full bool) (v any, sealed bool) {
	if !r.Deployed() || r.busy || r.Linked() || r.template.scope == nil {
		return nil, false
	}
	r.busy = true
	defer func() { r.busy = false }()
	if in := r.deployment(); in != nil {
		p := datum.New("mode", "Incremental", "provisioningState", "Succeeded", "outputs", in.outputsObject())
		if full {
			p = datum.New("id", r.ID, "name", r.Name, "type", r.Type, "properties", p)
		}
		return p, true
	}
	if r.body == nil {
		r.body = r.bodyIn(r.scope)
	}
	if full {
		return r.body, false
	}
	if p := r.body.Object("properties"); p != nil {
		return p, false
	}
	return nil, false
}

// outputsObject returns the outputs in the form in which references to the deployment return them.
func (t *Template) outputsObject() *datum.Object {
	if t.evaluated != nil || t.busy {
		return t.evaluated
	}
	t.busy = true
	defer func() { t.busy = false }()
	out := &datum.Object{}
	for _, o := range t.outputsOf(nil) {
		out.Set(o.Name, datum.New("type", o.Type, "value", o.Value))
	}
	t.evaluated = out
	return out
}

// Linked reports whether the resource is a nested deployment with a linked template.
func (r *Resource) Linked() bool {
	return r.IsDeployment() && r.raw.Object("properties").Object("template") == nil
}

// nestedTemplate returns the template of a nested deployment; inner means that its expressions are
// evaluated in a scope of their own.
func (r *Resource) nestedTemplate() (template *datum.Object, inner bool) {
	p := r.raw.Object("properties")
	return p.Object("template"), strings.EqualFold(r.scope.text(p.Object("expressionEvaluationOptions"), "scope"), "inner")
}

// deployment returns the expanded template of a nested deployment; nil for one that is not deployed
// or has a linked template, and for other resources.
func (r *Resource) deployment() *Template {
	if !r.IsDeployment() || !r.Deployed() || r.Linked() || r.expanded != nil {
		return r.expanded
	}
	defer within("the nested deployment '%s'", r.Name)
	if r.template.level >= maxLevels {
		fail("it is more than %d levels deep", maxLevels)
	}
	if group := r.template.find(r.target.base()); group != nil && r.target.Group != "" && r.target.Location == "" {
		// The template itself creates the group that is deployed to.
		if r.target.Location = group.scope.text(group.raw, "location"); strings.HasPrefix(r.target.Location, "[") {
			r.target.Location = ""
		}
	}
	s := *r.scope
	s.place |= placeRuntime | placeCopy
	parameters, _ := r.raw.Object("properties").Get("parameters")
	given, _ := s.value(parameters).(*datum.Object)
	raw, inner := r.nestedTemplate()
	r.expanded = build(raw, given, r.target, s.run, cond(inner, nil, r.scope), r.template.level+1)
	return r.expanded
}

// profiles contains the API versions by namespace, one for each profile in profileNames. Source:
// https://learn.microsoft.com/azure-stack/user/azure-stack-profiles-azure-resource-manager-versions.
var (
	profileNames = []string{"2018-03-01-hybrid", "2019-03-01-hybrid", "2020-09-01-hybrid"}
	profiles     = map[string][]string{"microsoft.compute": {"2017-03-30", "2017-12-01", "2020-06-01"},
		"microsoft.network": {"2017-10-01", "2017-10-01", "2018-11-01"}, "microsoft.storage": {"2016-01-01", "2017-10-01", "2019-06-01"},
		"microsoft.keyvault": {"2016-10-01", "2016-10-01", "2019-09-01"}, "microsoft.resources": {"2016-06-01", "2018-05-01", "2019-10-01"},
		"microsoft.authorization": {"2015-07-01", "2016-09-01", "2016-09-01"}, "microsoft.insights": {"2015-11-01", "2018-01-01", "2018-01-01"}}
)

// profileVersion returns the API version of a type in a profile, "" if it has none.
func profileVersion(profile, typ string) string {
	space, _, _ := strings.Cut(strings.ToLower(typ), "/")
	if i := slices.Index(profileNames, strings.ToLower(profile)); i >= 0 && profiles[space] != nil {
		return profiles[space][i]
	}
	return ""
}
