package arm

import (
	"net/http"
	"slices"
	"strings"
)

func locations(subscription string) []any {
	out := []any{}
	for _, name := range sortedKeys(Places) {
		p := Places[name]
		out = append(out, object{"id": "/subscriptions/" + subscription + "/locations/" + name, "name": name, "type": "Region", "displayName": p.Display, "regionalDisplayName": "(" + p.Group + ") " + p.Display,
			"metadata": object{"regionType": "Physical", "regionCategory": "Recommended", "geography": p.Geography, "geographyGroup": p.Group, "physicalLocation": p.Physical, "latitude": p.Latitude, "longitude": p.Longitude,
				"pairedRegion": []any{object{"name": p.Pair, "id": "/subscriptions/" + subscription + "/locations/" + p.Pair}}}})
	}
	return out
}

// answerSubscription answers what belongs to the subscription itself: locations,
// tags in use, providers.
func answerSubscription(c *call) bool {
	path, ns := lower(c.id.childType()), c.id.Namespace
	get, post := c.r.Method == http.MethodGet, c.r.Method == http.MethodPost
	switch {
	case ns == "" && path == "locations" && get:
		c.reply(http.StatusOK, object{"value": locations(c.id.Subscription)})
	case ns == "" && path == "tagnames" && len(c.id.Names) == 0 && get:
		c.reply(http.StatusOK, object{"value": c.tagNames()})
	case ns == "" && path == "providers" && get:
		c.reply(http.StatusOK, object{"value": c.providers()})
	case ns != "" && c.s.registry.versions(ns) != nil && (len(c.id.Types) == 0 && get || (path == "register" || path == "unregister") && post):
		c.reply(http.StatusOK, c.provider(ns))
	default:
		return false
	}
	return true
}

// providers lists the resource providers.
func (c *call) providers() []any {
	out := []any{}
	for _, key := range sortedKeys(c.s.registry.spaces) {
		if p := c.s.registry.spaces[key]; len(p.Types) > 0 {
			out = append(out, c.provider(p.Namespace))
		}
	}
	return out
}

// provider describes one resource provider by what is modelled of it.
func (c *call) provider(namespace string) object {
	var types []string
	p := c.s.registry.spaces[lower(namespace)]
	namespace = p.Namespace
	for _, k := range p.Types {
		_, rest, _ := strings.Cut(k.Name, "/")
		types = append(types, rest)
		for part := range k.Parts {
			types = append(types, rest+"/"+part)
		}
	}
	slices.Sort(types)
	var names []string
	for _, l := range sortedKeys(Places) {
		names = append(names, Places[l].Display)
	}
	list := []any{}
	for _, t := range types {
		list = append(list, object{"resourceType": t, "locations": anys(names), "apiVersions": anys(p.Versions), "capabilities": "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove, SupportsTags, SupportsLocation"})
	}
	return object{"id": "/subscriptions/" + c.id.Subscription + "/providers/" + namespace, "namespace": namespace, "registrationPolicy": "RegistrationRequired", "registrationState": "Registered", "resourceTypes": list}
}

// tagNames lists the tags in use and how often.
func (c *call) tagNames() []any {
	used := map[string]map[string]int{}
	c.s.read(func(t *tx) {
		for r := range ascend(t.order, "/subscriptions/"+lower(c.id.Subscription)) {
			tags := sub(t.doc(r).Body, "tags")
			for name := range tags {
				if used[name] == nil {
					used[name] = map[string]int{}
				}
				used[name][str(tags, name)]++
			}
		}
	})
	out := []any{}
	base := "/subscriptions/" + c.id.Subscription + "/tagNames/"
	for _, name := range sortedKeys(used) {
		values, total := []any{}, 0
		for _, v := range sortedKeys(used[name]) {
			total += used[name][v]
			values = append(values, object{"id": base + name + "/tagValues/" + v, "tagValue": v, "count": object{"type": "Total", "value": used[name][v]}})
		}
		out = append(out, object{"id": base + name, "tagName": name, "count": object{"type": "Total", "value": total}, "values": values})
	}
	return out
}
