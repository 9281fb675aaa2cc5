package arm

import (
	"regexp"
	"strings"
)

// newestVersion is a date after every API version known when this was written.
const newestVersion = "2027-01-01"

var apiVersionForm = regexp.MustCompile(`^20[12]\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(-[a-zA-Z0-9.-]+)?$`)

// checkVersion refuses an api-version that no provider can have.
func (c *call) checkVersion() *Error {
	v := c.version
	switch {
	case v == "":
		return badRequest("MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	case apiVersionForm.MatchString(v) && v < newestVersion && v >= "2014-01-01":
		return nil
	}
	known := c.s.registry.versions(c.id.Namespace)
	if c.id.Namespace == "" || known == nil || len(c.id.Types) == 0 {
		return badRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid. The supported versions are '%s'.", v, strings.Join(c.s.registry.versions("Microsoft.Resources"), ","))
	}
	location := "global"
	if k, owner, _ := c.s.registry.kindOf(c.id); k != nil {
		c.s.read(func(t *tx) {
			if d := t.find(owner.key()); d != nil {
				location = orDefault(d.location(), location)
			}
		})
	}
	return badRequest("NoRegisteredProviderFound", "No registered resource provider found for location '%s' and API version '%s' for type '%s'. The supported api-versions are '%s'. The supported locations are '%s'.",
		location, v, c.id.childType(), strings.Join(known, ", "), strings.Join(sortedKeys(Places), ", "))
}

// versions are those that a provider is listed with, nil for one that there is not.
func (r *registry) versions(namespace string) []string {
	if p := r.spaces[lower(namespace)]; p != nil {
		return p.Versions
	}
	return nil
}
