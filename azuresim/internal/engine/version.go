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
	k, owner, _ := c.Server.Registry.KindOf(c.ID)
	switch {
	case v == "":
		return BadRequest("MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	case k != nil && schema.Versions(k.Name) != nil:
		if slices.Contains(k.ListedVersions(), value.Lower(v)) {
			return nil
		}
	case unmodelled(c) != nil:
		if slices.Contains(unmodelled(c), value.Lower(v)) {
			return nil
		}
	case apiVersionForm.MatchString(v) && v < newestVersion && v >= "2014-01-01":
		return nil
	}
	if e := neverKnown(c); e != nil {
		return e
	}
	known := c.Server.Registry.Versions(c.ID.Namespace)
	if k != nil {
		known = k.ListedVersions()
	} else if own := unmodelled(c); own != nil {
		known = own
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

// root returns the first of the types in the request's path, in lower case, and the provider that it would be of; no
// provider for a namespace without one or whose types are not described.
func root(c *Request) (string, *Provider) {
	_, rest, _ := strings.Cut(value.Lower(c.ID.FullType()), "/")
	root, _, _ := strings.Cut(rest, "/")
	if root == "" || !schema.Describes(c.ID.Namespace) {
		return root, nil
	}
	return root, c.Server.Registry.Spaces[value.Lower(c.ID.Namespace)]
}

// unmodelled returns the API versions of a type that Azure has and the emulator has not; nil for any other.
func unmodelled(c *Request) []string {
	if root, p := root(c); p != nil && !p.has(root) {
		return schema.Versions(c.ID.FullType())
	}
	return nil
}

// neverKnown returns the error for a resource type that its namespace never had; nil where that is not known.
func neverKnown(c *Request) *Error {
	root, p := root(c)
	if p == nil || p.has(root) || schema.Versions(c.ID.FullType()) != nil {
		return nil
	}
	return Refuse(http.StatusNotFound, "InvalidResourceType", "The resource type '%s' could not be found in the namespace '%s' for api "+
		"version '%s'. The supported api-versions are '%s'.", c.ID.ChildType(), p.Namespace, c.Version, strings.Join(p.versions(), ","))
}

// has reports whether a type, an action or a list of the provider begins with a word. Those of a region, and what every
// namespace has, are no resource types, and Azure's description does not list them.
func (p *Provider) has(root string) bool {
	begins := func(path string) bool {
		first, _, _ := strings.Cut(path, "/")
		return strings.EqualFold(first, root)
	}
	return slices.Contains([]string{"locations", "operations"}, root) ||
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
