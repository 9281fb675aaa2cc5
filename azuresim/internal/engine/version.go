package engine

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/schema"
	"casement.dev/casement/azuresim/internal/value"
)

// newestVersion is later than every API version that Azure had when this was written.
const newestVersion = "2027-01-01"

var apiVersionForm = regexp.MustCompile(`^20[12]\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(-[a-zA-Z0-9.-]+)?$`)

// checkVersion returns an error for an api-version that a resource type never had or, where its
// versions are not known, that no provider can have.
func (c *Request) checkVersion() *Error {
	v := c.Version
	k, owner := rowOf(c)
	known := listed(c, k)
	switch {
	case v == "":
		return BadRequest("MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	case known != nil:
		if slices.Contains(known, value.Lower(v)) {
			return nil
		}
	case apiVersionForm.MatchString(v) && v < newestVersion && v >= "2014-01-01":
		return nil
	}
	if e := neverKnown(c); e != nil {
		return e
	}
	if known == nil {
		known = c.Server.Registry.Versions(c.ID.Namespace)
	}
	if c.ID.Namespace == "" || known == nil || len(c.ID.Types) == 0 {
		return BadRequest("InvalidApiVersionParameter",
			"The api-version '%s' is invalid. The supported versions are '%s'.", v,
			strings.Join(c.Server.Registry.Versions("Microsoft.Resources"), ","))
	}
	location := "global"
	if k != nil {
		c.Server.Read(func(t *Tx) {
			if d := t.Find(owner.Key()); d != nil {
				location = value.OrDefault(d.Location(), location)
			}
		})
	}
	places := value.SortedKeys(Places)
	if k != nil && k.Locations != nil {
		places = k.Locations
	}
	return BadRequest("NoRegisteredProviderFound", "No registered resource provider found for location '%s' and "+
		"API version '%s' for type '%s'. The supported api-versions are '%s'. The supported locations are "+
		"'%s'.",
		location, v, c.ID.ChildType(), strings.Join(known, ", "), strings.Join(places, ", "))
}

// rowOf returns the row of the type that a request names, else that of the nearest type above it, such as that of an action's
// resource, with the ID of that resource; nil where there is none.
func rowOf(c *Request) (*Type, ID) {
	for id, ok := c.ID, true; ok; id, ok = id.Parent() {
		if k, owner, _ := c.Server.Registry.KindOf(id); k != nil {
			return k, owner
		}
	}
	return nil, c.ID
}

// listed returns the API versions of the type that a request names, whose row or the nearest above it is k; nil where they are
// not known.
func listed(c *Request, k *Type) []string {
	switch known := schema.Versions(c.ID.FullType()); {
	case known == nil:
		return nil
	case k != nil:
		return k.ListedVersions()
	default:
		return known
	}
}

// neverKnown returns the error for a resource type that its namespace never had; nil where that is not known: paths that
// name no resource below another may be lists or actions, which Azure's description does not have.
func neverKnown(c *Request) *Error {
	p := c.Server.Registry.Spaces[value.Lower(c.ID.Namespace)]
	if p == nil || len(c.ID.Types) == 0 || !schema.Describes(c.ID.Namespace) {
		return nil
	}
	root := schema.Versions(c.ID.FullType()) != nil || p.has(c.ID.Types[0])
	child := len(c.ID.Types) > 1 && c.ID.IsResource() && c.HTTP.Method != http.MethodPost
	if root && (!child || schema.Had(c.ID.FullType()) || modelled(c)) {
		return nil
	}
	return Refuse(http.StatusNotFound, "InvalidResourceType", "The resource type '%s' could not be found in the namespace '%s' for api "+
		"version '%s'. The supported api-versions are '%s'.", c.ID.ChildType(), p.Namespace, c.Version, strings.Join(p.versions(), ","))
}

// modelled reports whether a row, an action or a route answers the request.
func modelled(c *Request) bool {
	k, _, _ := c.Server.Registry.KindOf(c.ID)
	a, _ := c.Server.Registry.Action(c.ID, c.HTTP.Method)
	return k != nil || a != nil || c.Server.Registry.route(c.ID, c.HTTP.Method) != nil || everywhere[value.Lower(c.ID.Types[0])]
}

// everywhere are the first words of paths that every namespace has; they are no resource types, and Azure's description does
// not list them.
var everywhere = map[string]bool{"locations": true, "operations": true}

// has reports whether a type, an action or a list of the provider begins with a word.
func (p *Provider) has(root string) bool {
	begins := func(path string) bool {
		first, _, _ := strings.Cut(path, "/")
		return strings.EqualFold(first, root)
	}
	return everywhere[value.Lower(root)] ||
		slices.ContainsFunc(p.Types, func(k Type) bool { return begins(k.Name[len(p.Namespace)+1:]) }) ||
		slices.ContainsFunc(p.Routes, func(r Route) bool { return begins(r.Path) })
}

// ListedVersions returns the API versions of a type, newest first; those of its provider for a type
// whose own are not known.
func (t *Type) ListedVersions() []string {
	if own := slices.Concat(schema.Versions(t.Name), schema.Versions(t.VersionsOf)); len(own) > 0 {
		return own
	}
	return t.provider.versions()
}

// versions returns the API versions of a provider's types, newest first.
func (p *Provider) versions() []string {
	var all []string
	for i := range p.Types {
		all = append(all, schema.Versions(p.Types[i].Name)...)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(b, a) })
	return slices.Compact(all)
}

// Versions returns the API versions of a provider; nil if the provider does not exist.
func (r *registry) Versions(namespace string) []string {
	if p := r.Spaces[value.Lower(namespace)]; p != nil {
		return p.versions()
	}
	return nil
}
