package template

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

func scopeFunctions() []function {
	return []function{
		{name: "parameters", eval: func(s *scope, a []any) (any, error) {
			return s.lookUp(s.parameters, "parameter", a[0].(string))
		}},
		{name: "variables", eval: func(s *scope, a []any) (any, error) {
			return s.lookUp(s.variables, "variable", a[0].(string))
		}},
		{name: "copyIndex", in: inLoop, eval: copyIndex},
		{name: "resourceGroup", eval: resourceGroup},
		{name: "subscription", eval: subscription},
		{name: "tenant", eval: func(s *scope, _ []any) (any, error) {
			return NewObject("tenantId", s.Tenant, "displayName", "casement (simulated)", "countryCode", "US"), nil
		}},
		{name: "deployment", eval: deployment},
		{name: "environment", eval: func(s *scope, _ []any) (any, error) {
			return s.givenOr(s.Environment, "environment()")
		}},
		{name: "deployer", eval: func(s *scope, _ []any) (any, error) {
			return s.givenOr(s.Deployer, "deployer()")
		}},
		{name: "managementGroup", eval: func(*scope, []any) (any, error) { return nil, errPlace("managementGroup") }},
		{name: "resourceId", eval: func(s *scope, a []any) (any, error) { return s.resourceID("resourceId", a, 2) }},
		{name: "subscriptionResourceId", eval: func(s *scope, a []any) (any, error) { return s.resourceID("subscriptionResourceId", a, 1) }},
		{name: "tenantResourceId", eval: func(s *scope, a []any) (any, error) { return s.resourceID("tenantResourceId", a, 0) }},
		{name: "managementGroupResourceId", eval: func(s *scope, a []any) (any, error) {
			return s.resourceID("managementGroupResourceId", a, 1)
		}},
		{name: "extensionResourceId", eval: func(s *scope, a []any) (any, error) {
			return typed("extensionResourceId", strings.TrimSuffix(a[0].(string), "/"), a[1:])
		}},
	}
}

func (s *scope) lookUp(in *Object, what, name string) (any, error) {
	v, ok := in.Get(name)
	if !ok {
		return nil, fmt.Errorf("the template %s '%s' is not found", what, name)
	}
	return s.force(v.(*lazy))
}

// givenOr returns what the caller knows, or that it is known later.
func (s *scope) givenOr(v *Object, text string) (any, error) {
	if v == nil {
		return s.laterOf(text)
	}
	return v, nil
}

func copyIndex(s *scope, a []any) (any, error) {
	name, offset := "", int64(0)
	ok := true
	switch len(a) {
	case 1:
		if name, ok = a[0].(string); !ok {
			offset, ok = a[0].(int64)
		}
	case 2:
		name, ok = a[0].(string)
		n, is := a[1].(int64)
		offset, ok = n, ok && is
	}
	if !ok {
		return nil, errors.New("the first parameter should be a string and the second one should be an integer")
	}
	for i := len(s.loops) - 1; i >= 0; i-- {
		if l := s.loops[i]; name == "" && l.of == loopWhole || name != "" && strings.EqualFold(l.name, name) {
			return l.index + offset, nil
		}
	}
	return nil, fmt.Errorf("has an invalid argument. The provided copy name '%s' doesn't exist in the resource", name)
}

func resourceGroup(s *scope, a []any) (any, error) {
	id, name := s.base(), s.Group
	switch {
	case len(a) > 0:
		name = a[len(a)-1].(string)
		sub := s.Subscription
		if len(a) == 2 {
			sub = a[0].(string)
		}
		id = groupID(sub, name)
	case s.Group == "":
		return nil, errPlace("resourceGroup")
	}
	o := NewObject("id", id, "name", name, "type", "Microsoft.Resources/resourceGroups")
	switch {
	case len(a) > 0:
	case s.Location == "":
		return later{text: "resourceGroup()", known: o}, nil
	default:
		tags := s.Tags
		if tags == nil {
			tags = &Object{}
		}
		rest := NewObject("location", s.Location, "tags", tags, "managedBy", nil, "properties", NewObject("provisioningState", "Succeeded"))
		for k, v := range rest.All() {
			o.Set(k, v)
		}
	}
	return o, nil
}

func groupID(subscription, group string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + group
}

// base returns the ID of what the template is deployed to.
func (c *Context) base() string {
	if c.Group == "" {
		return "/subscriptions/" + c.Subscription
	}
	return groupID(c.Subscription, c.Group)
}

func subscription(s *scope, a []any) (any, error) {
	id := s.Subscription
	if len(a) == 1 {
		if id = a[0].(string); !isGUID(id) {
			return nil, errSubscription(id)
		}
	}
	o := NewObject("id", "/subscriptions/"+id, "subscriptionId", id)
	if len(a) == 0 {
		o.Set("tenantId", s.Tenant)
		o.Set("displayName", "casement (simulated)")
	}
	return o, nil
}

func errSubscription(id string) error {
	return fmt.Errorf("the provided value '%s' is not valid subscription identifier", id)
}

var guids = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func isGUID(s string) bool { return guids.MatchString(s) }

func deployment(s *scope, _ []any) (any, error) {
	p := NewObject("template", s.template, "templateHash", "", "parameters", &Object{}, "mode", "Incremental",
		"provisioningState", "Accepted")
	o := NewObject("name", s.Deployment, "properties", p)
	if s.Group == "" {
		o = NewObject("name", s.Deployment, "location", s.Location, "properties", p)
	}
	return o, nil
}

// resourceID evaluates the functions that make IDs. At most places arguments may come before the
// type: a subscription and a group, or a management group.
func (s *scope) resourceID(name string, a []any, places int) (any, error) {
	at := -1
	for i, v := range a {
		if strings.Contains(strings.Trim(v.(string), "/"), "/") {
			if at >= 0 {
				at = len(a)
			} else {
				at = i
			}
		}
	}
	if at < 0 || at > places {
		return nil, fmt.Errorf("unable to evaluate template language function '%s': function requires exactly one multi-segmented argument "+
			"which must be resource type including resource provider namespace, after at most %d other argument(s)", name, places)
	}
	base := ""
	switch name {
	case "resourceId":
		sub, group := s.Subscription, s.Group
		if at == 2 {
			sub = a[0].(string)
		}
		if at > 0 {
			group = a[at-1].(string)
		}
		if !isGUID(sub) {
			return nil, errSubscription(sub)
		}
		if base = "/subscriptions/" + sub; group != "" {
			base = groupID(sub, group)
		}
	case "subscriptionResourceId":
		sub := s.Subscription
		if at == 1 {
			sub = a[0].(string)
		}
		if !isGUID(sub) {
			return nil, errSubscription(sub)
		}
		base = "/subscriptions/" + sub
	case "managementGroupResourceId":
		if at == 0 {
			return nil, errPlace(name)
		}
		base = "/providers/Microsoft.Management/managementGroups/" + a[0].(string)
	}
	if strings.EqualFold(a[at].(string), "Microsoft.Resources/resourceGroups") && strings.Count(base, "/") == 2 && len(a) == at+2 {
		return base + "/resourceGroups/" + a[at+1].(string), nil // groups are no resources of a provider
	}
	return typed(name, base, a[at:])
}

// typed returns the ID below base of a type and its names.
func typed(function, base string, a []any) (any, error) {
	parts := strings.Split(strings.Trim(a[0].(string), "/"), "/")
	names := a[1:]
	if len(parts)-1 != len(names) || len(parts) < 2 {
		return nil, fmt.Errorf("unable to evaluate template language function '%s': the type '%s' requires '%d' resource name argument(s)",
			function, a[0], len(parts)-1)
	}
	var out strings.Builder
	out.WriteString(base + "/providers/" + parts[0])
	for i, t := range parts[1:] {
		out.WriteString("/" + t + "/" + names[i].(string))
	}
	return out.String(), nil
}

// Live answers what is known of deployed resources only.
type Live interface {
	// Reference returns the properties of the resource of an ID, or with full all of it.
	Reference(id, version string, full bool) (any, error)
	// List returns the answer of a list function, as listKeys, of the resource of an ID.
	List(function, id, version string, body any) (any, error)
}

func resourceFunctions() []function {
	return []function{
		{name: "reference", eval: reference},
		{name: "references", eval: references},
		{name: "resourceInfo", eval: resourceInfo},
		{name: "pickZones", eval: pickZones},
		{name: "providers", eval: func(*scope, []any) (any, error) { return nil, errLater }},
		{name: "toLogicalZone", eval: func(s *scope, a []any) (any, error) {
			if s.live == nil {
				return nil, errLater
			}
			return a[2].(string)[strings.LastIndexByte(a[2].(string), 'z')+1:], nil
		}},
		{name: "toPhysicalZone", eval: func(s *scope, a []any) (any, error) {
			if s.live == nil {
				return nil, errLater
			}
			return a[1].(string) + "-az" + a[2].(string), nil
		}},
	}
}

// resource finds a resource of the template by symbolic name, ID or name.
func (s *scope) resource(name string) *Resource {
	if s.resources == nil {
		return nil
	}
	r := s.resources.find(name)
	if r != nil && s.seen != nil {
		s.seen(r)
	}
	return r
}

func reference(s *scope, a []any) (any, error) {
	if s.place&placeRuntime == 0 {
		return nil, errPlace("reference")
	}
	id, version, full := a[0].(string), "", len(a) == 3 && strings.EqualFold(a[2].(string), "full")
	if len(a) > 1 {
		version, _ = a[1].(string)
	}
	r := s.resource(id)
	if r != nil {
		id = r.ID
		if version == "" {
			version = r.APIVersion
		}
	}
	if s.live != nil {
		if !strings.HasPrefix(id, "/") {
			return nil, fmt.Errorf("the resource '%s' is not defined in the template", id)
		}
		return s.live.Reference(id, version, full)
	}
	if r == nil {
		if s.resources != nil && !strings.HasPrefix(id, "/") {
			s.resources.problem("the resource '%s' is not defined in the template", id)
		}
		return nil, errLater
	}
	if r.Existing {
		return nil, errLater
	}
	args := []any{id, version}
	if full {
		args = append(args, a[2])
	}
	l := later{text: showCall("reference", args)}
	var err error
	l.known, l.sealed, err = r.known(full)
	return l, err
}

func references(s *scope, a []any) (any, error) {
	if s.place&placeRuntime == 0 {
		return nil, errPlace("references")
	}
	var out []any
	if s.resources == nil || s.live == nil {
		s.resource(a[0].(string) + "[0]")
		return nil, errLater
	}
	for _, r := range s.resources.loop(a[0].(string)) {
		v, err := reference(s, append([]any{r.ID, r.APIVersion}, a[1:]...))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func resourceInfo(s *scope, a []any) (any, error) {
	if r := s.resource(a[0].(string)); r != nil {
		return NewObject("id", r.ID, "name", r.Name[strings.LastIndexByte(r.Name, '/')+1:], "type", r.Type, "apiVersion", r.APIVersion), nil
	}
	return nil, fmt.Errorf("the resource '%s' is not defined in the template", a[0])
}

func pickZones(s *scope, a []any) (any, error) {
	if s.live == nil {
		return nil, errLater
	}
	count, offset := int64(1), int64(0)
	if len(a) > 3 {
		count = a[3].(int64)
	}
	if len(a) > 4 {
		offset = a[4].(int64)
	}
	zones := []any{"1", "2", "3"}
	if count < 1 || offset < 0 || offset+count > int64(len(zones)) {
		return nil, fmt.Errorf("finds %d zones in %s", len(zones), a[2])
	}
	return zones[offset : offset+count], nil
}

// listFunction is any function whose name begins with list.
func listFunction(name string) *function {
	f := &function{eval: func(s *scope, a []any) (any, error) {
		if s.place&placeRuntime == 0 {
			return nil, errPlace(name)
		}
		id, version := a[0].(string), ""
		if len(a) > 1 {
			version, _ = a[1].(string)
		}
		if r := s.resource(id); r != nil {
			id = r.ID
			if version == "" {
				version = r.APIVersion
			}
		}
		if s.live == nil {
			return s.laterOf(showCall(name, append([]any{id}, a[1:]...)))
		}
		var body any
		if len(a) > 2 {
			body = a[2]
		}
		return s.live.List(name, id, version, body)
	}}
	f.read(name + "(resource: string, version?: string|null, body?: any): any")
	return f
}
