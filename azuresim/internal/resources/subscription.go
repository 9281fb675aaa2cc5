package resources

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// locations returns the regions, as a subscription sees them.
func locations(subscription string) []any {
	out := []any{}
	for _, name := range value.SortedKeys(engine.Places) {
		p := engine.Places[name]
		category, pair := "Other", []any{}
		if p.Pair != "" {
			pair = []any{value.Object{"name": p.Pair, "id": "/subscriptions/" + subscription + "/locations/" + p.Pair}}
		}
		location := value.Object{"id": "/subscriptions/" + subscription + "/locations/" + name, "name": name,
			"type": "Region", "displayName": p.Display, "regionalDisplayName": "(" + p.Group + ") " + p.Display}
		if p.Zonal {
			category = "Recommended"
			var zones []any
			for _, z := range []string{"1", "2", "3"} {
				zones = append(zones, value.Object{"logicalZone": z, "physicalZone": name + "-az" + z})
			}
			location["availabilityZoneMappings"] = zones
		}
		location["metadata"] = value.Object{"regionType": "Physical", "regionCategory": category,
			"geography": p.Geography, "geographyGroup": p.Group, "physicalLocation": p.Physical,
			"latitude": p.Latitude, "longitude": p.Longitude, "pairedRegion": pair}
		out = append(out, location)
	}
	return out
}

// answerSubscription answers requests to the subscription itself: locations, tags in use,
// providers.
func answerSubscription(c *engine.Request) bool {
	path, ns := value.Lower(c.ID.ChildType()), c.ID.Namespace
	get, post := c.HTTP.Method == http.MethodGet, c.HTTP.Method == http.MethodPost
	switch {
	case ns == "" && path == "locations" && get:
		c.Reply(http.StatusOK, value.Object{"value": locations(c.ID.Subscription)})
	case ns == "" && path == "tagnames" && len(c.ID.Names) == 0 && get:
		c.Reply(http.StatusOK, value.Object{"value": tagNames(c)})
	case ns == "" && path == "providers" && get:
		c.Reply(http.StatusOK, value.Object{"value": providers(c)})
	case ns != "" && c.Server.Registry.Versions(ns) != nil &&
		(len(c.ID.Types) == 0 && get || (path == "register" || path == "unregister") && post):
		c.Reply(http.StatusOK, provider(c, ns))
	default:
		return false
	}
	return true
}

// providers lists the resource providers.
func providers(c *engine.Request) []any {
	out := []any{}
	for _, key := range value.SortedKeys(c.Server.Registry.Spaces) {
		if p := c.Server.Registry.Spaces[key]; len(p.Types) > 0 {
			out = append(out, provider(c, p.Namespace))
		}
	}
	return out
}

// provider returns the description of one resource provider with its emulated types.
func provider(c *engine.Request, namespace string) value.Object {
	listed := map[string]value.Object{}
	p := c.Server.Registry.Spaces[value.Lower(namespace)]
	namespace = p.Namespace
	var names []string
	for _, l := range value.SortedKeys(engine.Places) {
		names = append(names, engine.Places[l].Display)
	}
	for i := range p.Types {
		k := &p.Types[i]
		if k.Internal {
			continue
		}
		_, rest, _ := strings.Cut(k.Name, "/")
		places := k.Locations
		if places == nil {
			places = names
		}
		for _, t := range append([]string{rest}, partsOf(rest, k)...) {
			listed[t] = value.Object{
				"resourceType": t, "locations": value.Anys(places), "apiVersions": value.Anys(k.ListedVersions()),
				"capabilities": "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove, SupportsTags, SupportsLocation",
			}
		}
	}
	list := []any{}
	for _, t := range value.SortedKeys(listed) {
		list = append(list, listed[t])
	}
	return value.Object{
		"id": "/subscriptions/" + c.ID.Subscription + "/providers/" + namespace, "namespace": namespace,
		"registrationPolicy": "RegistrationRequired", "registrationState": "Registered", "resourceTypes": list,
	}
}

// partsOf returns the types of the parts in documents of a type.
func partsOf(name string, k *engine.Type) []string {
	var out []string
	for part := range k.Parts {
		out = append(out, name+"/"+part)
	}
	return out
}
