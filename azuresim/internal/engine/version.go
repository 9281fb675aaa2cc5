package engine

import (
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
	case apiVersionForm.MatchString(v) && v < newestVersion && v >= "2014-01-01":
		return nil
	}
	known := c.Server.Registry.Versions(c.ID.Namespace)
	if k != nil {
		known = k.ListedVersions()
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
