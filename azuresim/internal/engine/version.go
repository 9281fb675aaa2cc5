package engine

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/schema"
	"casement.dev/casement/azuresim/internal/value"
)

// newestVersion is later than every API version of Azure at the time of this release.
const newestVersion = "2027-01-01"

var apiVersionForm = regexp.MustCompile(`^20[12]\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(-[a-zA-Z0-9.-]+)?$`)

// checkVersion returns an error for an api-version that a resource type never had; if the type's
// versions are not known, only for one that no provider can have.
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

// rowOf returns the row of the type that a request names, or the row of the nearest type above it
// (for an action, its resource), with the resource's ID; nil if there is none.
func rowOf(c *Request) (*Type, ID) {
	for id, ok := c.ID, true; ok; id, ok = id.Parent() {
		if k, owner, _ := c.Server.Registry.KindOf(id); k != nil {
			return k, owner
		}
	}
	return nil, c.ID
}

// listed returns the API versions of the type that a request names, or nil if they are not known. k
// is the row that rowOf returns.
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

// neverKnown returns the error for a resource type that its namespace never had. It returns nil if
// that is not known: a path below a known type that names no resource may be a list or an action,
// which Azure's description does not contain.
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

// everywhere has the first words of paths that exist in every namespace. They are no resource
// types, and Azure's description does not list them.
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

// ListedVersions returns the API versions of a type, newest first. For a type without known
// versions, it returns its provider's.
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
