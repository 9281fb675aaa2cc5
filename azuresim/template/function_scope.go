package template

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

var scopeFunctions = functions{
	"parameters": func(s *scope, a []any) any { return s.lookUp(s.parameters, "parameter", a[0].(string)) },
	"variables":  func(s *scope, a []any) any { return s.lookUp(s.variables, "variable", a[0].(string)) },
	"copyIndex":  copyIndex,
	"resourceGroup": func(s *scope, a []any) any {
		group := func(sub, name string) *datum.Object {
			return datum.New("id", groupID(sub, name), "name", name, "type", "Microsoft.Resources/resourceGroups")
		}
		if len(a) > 0 {
			return group(cond(len(a) == 2, a[0], any(s.Subscription)).(string), a[len(a)-1].(string))
		}
		s.needIf(s.Group != "")
		o := group(s.Subscription, s.Group)
		if s.Location == "" {
			return datum.Later{Text: "resourceGroup()", Known: o}
		}
		return datum.Overlay(o, datum.New("location", s.Location, "tags", cond(s.Tags == nil, &datum.Object{}, s.Tags), "managedBy", nil,
			"properties", datum.New("provisioningState", "Succeeded")))
	},
	"subscription": func(s *scope, a []any) any {
		id := subscriptionID(arg(a, 0, s.Subscription))
		o := datum.New("id", "/subscriptions/"+id, "subscriptionId", id)
		if len(a) == 0 {
			o.Set("tenantId", s.Tenant)
			o.Set("displayName", "casement (simulated)")
		}
		return o
	},
	"tenant": func(s *scope, _ []any) any {
		return datum.New("tenantId", s.Tenant, "displayName", "casement (simulated)", "countryCode", "US")
	},
	"deployment": func(s *scope, _ []any) any {
		o := datum.New("name", s.Deployment)
		if s.Group == "" {
			o.Set("location", s.Location)
		}
		o.Set("properties", datum.New("template", s.template, "templateHash", "", "parameters", &datum.Object{}, "mode", "Incremental",
			"provisioningState", "Accepted"))
		return o
	},
	"environment":     func(s *scope, _ []any) any { return givenOrLater(s.Environment) },
	"deployer":        func(s *scope, _ []any) any { return givenOrLater(s.Deployer) },
	"managementGroup": func(s *scope, _ []any) any { s.needIf(false); return nil },

	"resourceId": resourceID(2, func(s *scope, place []string) string {
		c := Context{Subscription: s.Subscription, Group: s.Group}
		if n := len(place); n > 0 {
			c = Context{Subscription: cond(n == 2, place[0], c.Subscription), Group: place[n-1]}
		}
		subscriptionID(c.Subscription)
		return c.base()
	}),
	"subscriptionResourceId": resourceID(1, func(s *scope, place []string) string {
		return "/subscriptions/" + subscriptionID(append(place, s.Subscription)[0])
	}),
	"tenantResourceId": resourceID(0, func(*scope, []string) string { return "" }),
	"managementGroupResourceId": resourceID(1, func(s *scope, place []string) string {
		s.needIf(len(place) == 1)
		return "/providers/Microsoft.Management/managementGroups/" + place[0]
	}),
	"extensionResourceId": func(_ *scope, a []any) any { return typed(strings.TrimSuffix(a[0].(string), "/"), texts(a[1:])) },
}

// need fails if a function is called at a place where it is not allowed.
func (s *scope) need(p place) { s.needIf(s.place&p != 0) }

func (s *scope) needIf(may bool) {
	if !may {
		fail("is not expected at this location")
	}
}

func (s *scope) lookUp(in *datum.Object, what, name string) any {
	v, ok := in.Get(name)
	if !ok {
		failWhole("the template %s '%s' is not found", what, name)
	}
	return s.force(v.(*lazy))
}

// givenOrLater returns an object of the caller, or a Later if it is nil.
func givenOrLater(o *datum.Object) any {
	if o == nil {
		return datum.Later{}
	}
	return o
}

func copyIndex(s *scope, a []any) any {
	name, named := arg[any](a, 0, "").(string)
	offset, numbered := arg[any](a, max(len(a)-1, 0), int64(0)).(int64)
	if !named && len(a) > 1 || !numbered && (len(a) > 1 || !named) {
		fail("expects the first parameter to be a string and the second one to be an integer")
	}
	for i := len(s.loops) - 1; i >= 0; i-- {
		if l := s.loops[i]; name == "" && !l.ofProperty || name != "" && strings.EqualFold(l.name, name) {
			return l.index + offset
		}
	}
	return fail("is not valid here. The provided copy name '%s' doesn't exist in the resource", name)
}

func groupID(subscription, group string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + group
}

// base returns the ID of the scope to which the template is deployed.
func (c *Context) base() string {
	return cond(c.Group == "", "/subscriptions/"+c.Subscription, groupID(c.Subscription, c.Group))
}

var guids = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// subscriptionID returns id, and fails if it is not the ID of a subscription.
func subscriptionID(id string) string {
	if !guids.MatchString(id) {
		fail("has the value '%s', which is not valid subscription identifier", id)
	}
	return id
}

func texts(list []any) []string { return each(list, as[string]) }

// resourceID implements a function that returns a resource ID. At most most arguments before the
// type name the scope, whose ID base returns.
func resourceID(most int, base func(s *scope, place []string) string) eval {
	return func(s *scope, a []any) any {
		args := texts(a)
		segments := func(v string) bool { return strings.Contains(strings.Trim(v, "/"), "/") }
		at := slices.IndexFunc(args, segments)
		if at < 0 || at > most || slices.ContainsFunc(args[at+1:], segments) {
			fail("requires exactly one multi-segmented argument which must be resource type including resource provider namespace, after "+
				"at most %d other argument(s)", most)
		}
		return typed(base(s, slices.Clip(args[:at])), args[at:])
	}
}

// typed returns the ID of a resource below base; a contains the type and the names.
func typed(base string, a []string) string {
	typ := strings.Trim(a[0], "/")
	if n := strings.Count(typ, "/"); n != len(a)-1 || n == 0 {
		fail("has the type '%s', which requires '%d' resource name argument(s)", a[0], n)
	}
	if strings.EqualFold(typ, "Microsoft.Resources/resourceGroups") && strings.Count(base, "/") == 2 {
		return base + "/resourceGroups/" + a[1] // in Azure's IDs, groups have no provider
	}
	return base + "/providers/" + interleaved(typ, a[1:])
}

// Live returns the values that only deployed resources have.
type Live interface {
	// Reference returns the properties of the resource with an ID or, if full is set, the whole
	// resource.
	Reference(id, version string, full bool) (any, error)
	// List returns the answer of a list function, such as listKeys, of the resource with an ID.
	List(function, id, version string, body any) (any, error)
}

var resourceFunctions = functions{
	"reference": reference,
	"references": func(s *scope, a []any) any {
		s.need(placeRuntime)
		name := a[0].(string)
		if s.resources == nil || s.live == nil {
			s.resource(name + "[0]")
			return datum.Later{}
		}
		out := []any{}
		for _, r := range s.resources.loops[strings.ToLower(name)] {
			out = append(out, reference(s, append([]any{r.ID, r.APIVersion}, a[1:]...)))
		}
		return out
	},
	"resourceInfo": func(s *scope, a []any) any {
		r := s.resource(a[0].(string))
		if r == nil {
			return fail("names the resource '%s', which is not defined in the template", a[0])
		}
		return datum.New("id", r.ID, "name", r.Name[strings.LastIndexByte(r.Name, '/')+1:], "type", r.Type, "apiVersion", r.APIVersion)
	},
	"pickZones": liveOnly(func(a []any) any {
		count, offset := arg(a, 3, int64(1)), arg(a, 4, int64(0))
		zones := []any{"1", "2", "3"}
		if count < 1 || offset < 0 || offset+count > int64(len(zones)) {
			fail("finds %d zones in %s", len(zones), a[2])
		}
		return zones[offset : offset+count]
	}),
	"providers":     providers,
	"toLogicalZone": logicalZones, "toLogicalZones": logicalZones, "toPhysicalZone": physicalZones, "toPhysicalZones": physicalZones,
}

var (
	logicalZones  = ofZones(func(_, zone string) string { return zone[strings.LastIndexByte(zone, 'z')+1:] })
	physicalZones = ofZones(func(location, zone string) string { return location + "-az" + zone })
)

// ofZones implements a function of one zone or of several zones.
func ofZones(do func(location, zone string) string) eval {
	return liveOnly(func(a []any) any {
		one := func(zone any) any { return do(a[1].(string), as[string](zone)) }
		if list, is := a[2].([]any); is {
			return each(list, one)
		}
		return one(a[2])
	})
}

// providers returns the description of a provider by itself, or of one of its types.
func providers(s *scope, a []any) any {
	if s.live == nil {
		return datum.Later{}
	}
	p := as[*datum.Object](answered(s.live.Reference("/subscriptions/"+s.Subscription+"/providers/"+a[0].(string), "", true)))
	if len(a) == 1 {
		return p
	}
	for _, e := range datum.At[[]any](p, "resourceTypes") {
		if t, _ := e.(*datum.Object); strings.EqualFold(t.Text("resourceType"), a[1].(string)) {
			return t.Without("capabilities")
		}
	}
	return fail("finds no resource type '%s' in namespace '%s'", a[1], a[0])
}

// liveOnly implements a function whose value is known only at deployment.
func liveOnly(do func(a []any) any) eval {
	return func(s *scope, a []any) any {
		if s.live == nil {
			return datum.Later{}
		}
		return do(a)
	}
}

// resource returns the resource of the template with a symbolic name, ID or name; nil if there is
// none.
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

// target returns the resource, ID and API version that the arguments of a function select; r is nil
// for a resource outside of the template.
func (s *scope) target(a []any) (r *Resource, id, version string) {
	s.need(placeRuntime)
	id, version = a[0].(string), arg(a, 1, "")
	if r = s.resource(id); r != nil {
		id, version = r.ID, cmp.Or(version, r.APIVersion)
	}
	return r, id, version
}

// answered returns the answer of a deployed resource, and fails for an error.
func answered(v any, err error) any {
	if err != nil {
		fail("%w", err)
	}
	return v
}

func reference(s *scope, a []any) any {
	r, id, version := s.target(a)
	full := strings.EqualFold(arg(a, 2, ""), "full")
	here := strings.HasPrefix(id, "/")
	if !here && s.live != nil {
		fail("names the resource '%s', which is not defined in the template", id)
	}
	if s.live != nil {
		return answered(s.live.Reference(id, version, full))
	}
	if r == nil && !here && s.resources != nil {
		s.resources.problem("the resource '%s' is not defined in the template", id)
	}
	if r == nil || r.Existing {
		return datum.Later{}
	}
	l := datum.Later{Text: showCall("reference", append([]any{id, version}, cond(full, a[min(2, len(a)):], nil)...))}
	l.Known, l.Sealed = r.known(full)
	return l
}

// listFunction returns the function with a name that begins with list.
func listFunction(name string) *function {
	f := signatureOf(name + "(resource: string, version?: string|null, body?: any): any")
	f.eval = func(s *scope, a []any) any {
		_, id, version := s.target(a)
		if s.live == nil {
			return datum.Later{Text: showCall(name, append([]any{id}, a[1:]...))}
		}
		return answered(s.live.List(name, id, version, arg[any](a, 2, nil)))
	}
	return f
}
