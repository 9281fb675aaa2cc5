package arm

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// place is a region as the list of locations shows it.
type place struct {
	display, geography, group, physical, pair string
	latitude, longitude                       string
}

// places are the regions that the local Azure knows.
// Source: https://learn.microsoft.com/azure/reliability/regions-list.
var places = map[string]place{
	"westeurope":  {"West Europe", "Europe", "Europe", "Netherlands", "northeurope", "52.3667", "4.9"},
	"northeurope": {"North Europe", "Europe", "Europe", "Ireland", "westeurope", "53.3478", "-6.2597"},
	"eastus":      {"East US", "United States", "US", "Virginia", "westus", "37.3719", "-79.8164"},
	"eastus2":     {"East US 2", "United States", "US", "Virginia", "centralus", "36.6681", "-78.3889"},
	"westus2":     {"West US 2", "United States", "US", "Washington", "westcentralus", "47.233", "-119.852"},
	"westus":      {"West US", "United States", "US", "California", "eastus", "37.783", "-122.417"},
}

func locations(subscription string) []any {
	out := []any{}
	for _, name := range sortedKeys(places) {
		p := places[name]
		out = append(out, object{"id": "/subscriptions/" + subscription + "/locations/" + name, "name": name, "type": "Region", "displayName": p.display, "regionalDisplayName": "(" + p.group + ") " + p.display,
			"metadata": object{"regionType": "Physical", "regionCategory": "Recommended", "geography": p.geography, "geographyGroup": p.group, "physicalLocation": p.physical, "latitude": p.latitude, "longitude": p.longitude,
				"pairedRegion": []any{object{"name": p.pair, "id": "/subscriptions/" + subscription + "/locations/" + p.pair}}}})
	}
	return out
}

// apiVersions are the versions that providers are listed with, the newest first.
// Requests may carry others: each client sends its own.
var apiVersions = map[string][]string{
	"microsoft.compute":         {"2025-04-01", "2024-11-01", "2024-07-01", "2024-03-01", "2023-09-01", "2022-11-01", "2022-08-01", "2021-07-01", "2020-06-01", "2019-12-01"},
	"microsoft.network":         {"2025-03-01", "2024-05-01", "2023-05-01", "2022-07-01", "2022-01-01", "2020-11-01", "2018-11-01", "2018-10-01"},
	"microsoft.resources":       {"2025-04-01", "2022-09-01", "2021-04-01", "2020-06-01", "2019-10-01"},
	"microsoft.authorization":   {"2022-04-01", "2020-05-01", "2016-09-01", "2015-07-01"},
	"microsoft.managedidentity": {"2024-11-30", "2023-01-31", "2018-11-30"},
	"microsoft.keyvault":        {"2024-11-01", "2023-07-01", "2022-07-01", "2019-09-01"},
}

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
	known := apiVersions[lower(c.id.Namespace)]
	if c.id.Namespace == "" || known == nil || len(c.id.Types) == 0 {
		return badRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid. The supported versions are '%s'.", v, strings.Join(apiVersions["microsoft.resources"], ","))
	}
	location := "global"
	if k, owner, _ := c.s.kindOf(c.id); k != nil {
		c.s.read(func(t *tx) {
			if d := t.find(owner.key()); d != nil {
				location = orDefault(d.location(), location)
			}
		})
	}
	return badRequest("NoRegisteredProviderFound", "No registered resource provider found for location '%s' and API version '%s' for type '%s'. The supported api-versions are '%s'. The supported locations are '%s'.",
		location, v, c.id.childType(), strings.Join(known, ", "), strings.Join(sortedKeys(places), ", "))
}

// serveSubscription answers what hangs on the subscription itself: SKUs, usages,
// images, locations, providers. It returns false for everything else.
func (c *call) serveSubscription() (bool, *Error) {
	if c.id.Group != "" {
		return false, nil
	}
	path, ns := lower(c.id.childType()), lower(c.id.Namespace)
	get, post := c.r.Method == http.MethodGet, c.r.Method == http.MethodPost
	switch {
	case ns == "" && path == "locations" && get:
		c.reply(http.StatusOK, object{"value": locations(c.id.Subscription)})
	case ns == "" && path == "tagnames" && len(c.id.Names) == 0 && get:
		c.reply(http.StatusOK, object{"value": c.tagNames()})
	case ns == "" && path == "providers" && get:
		c.reply(http.StatusOK, object{"value": c.providers()})
	case ns == "microsoft.compute" && path == "skus" && get:
		c.reply(http.StatusOK, object{"value": skus(c.query.Get("$filter"))})
	case ns == "microsoft.compute" && path == "locations/usages" && get:
		c.reply(http.StatusOK, object{"value": c.usages()})
	case ns == "microsoft.network" && path == "locations/usages" && get:
		c.reply(http.StatusOK, object{"value": c.networkUsages()})
	case ns == "microsoft.network" && path == "locations/checkdnsnameavailability" && get:
		c.reply(http.StatusOK, object{"available": c.labelFree(c.query.Get("domainNameLabel"), region(c.id.Names[0]))})
	case ns == "microsoft.keyvault" && path == "checknameavailability" && post:
		return true, c.vaultNameFree()
	case ns == "microsoft.compute" && path == "locations/vmsizes" && get:
		c.reply(http.StatusOK, object{"value": machineSizes()})
	case ns == "microsoft.compute" && strings.HasPrefix(path, "locations/runcommands") && get:
		return true, c.serveRunCommands()
	case ns == "microsoft.compute" && len(c.id.Types) > 1 && lower(c.id.Types[0]) == "locations":
		return true, c.serveImages()
	case ns != "" && (len(c.id.Types) == 0 && get || (path == "register" || path == "unregister") && post):
		if apiVersions[ns] == nil {
			return true, errUnsupported("the resource provider " + c.id.Namespace)
		}
		c.reply(http.StatusOK, c.provider(c.id.Namespace))
	default:
		return false, nil
	}
	return true, nil
}

// providers lists the resource providers.
func (c *call) providers() []any {
	seen := map[string]string{}
	for _, k := range c.s.types {
		ns, _, _ := strings.Cut(k.typ, "/")
		seen[lower(ns)] = ns
	}
	out := []any{}
	for _, key := range sortedKeys(seen) {
		out = append(out, c.provider(seen[key]))
	}
	return out
}

// provider describes one resource provider by what is modelled of it.
func (c *call) provider(namespace string) object {
	var types []string
	for _, k := range c.s.types {
		ns, rest, _ := strings.Cut(k.typ, "/")
		if !strings.EqualFold(ns, namespace) {
			continue
		}
		namespace = ns
		types = append(types, rest)
		for part := range k.parts {
			types = append(types, rest+"/"+part)
		}
	}
	slices.Sort(types)
	var names []string
	for _, l := range sortedKeys(places) {
		names = append(names, places[l].display)
	}
	list := []any{}
	for _, t := range types {
		list = append(list, object{"resourceType": t, "locations": anys(names), "apiVersions": anys(apiVersions[lower(namespace)]), "capabilities": "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove, SupportsTags, SupportsLocation"})
	}
	return object{"id": "/subscriptions/" + c.id.Subscription + "/providers/" + namespace, "namespace": namespace, "registrationPolicy": "RegistrationRequired", "registrationState": "Registered", "resourceTypes": list}
}

// networkUsages counts a region's network resources against Azure's limits.
func (c *call) networkUsages() []any {
	out := []any{}
	location := region(c.id.Names[0])
	c.s.read(func(t *tx) {
		for _, u := range []struct {
			name, typ string
			limit     int
		}{{"VirtualNetworks", typeVNet, 1000}, {"NetworkSecurityGroups", typeNSG, 5000}, {"NetworkInterfaces", typeNIC, 65536}, {"PublicIPAddresses", typePublicIP, 1000},
			{"LoadBalancers", typeBalancer, 1000}, {"RouteTables", typeTable, 200}, {"NatGateways", typeGateway, 1000}} {
			n := 0
			for r := range t.scan(u.typ, "/subscriptions/"+c.id.Subscription) {
				if r.location == location {
					n++
				}
			}
			out = append(out, object{"id": c.id.parentPath() + "/usages/" + u.name, "name": object{"value": u.name, "localizedValue": u.name}, "unit": "Count", "currentValue": n, "limit": u.limit})
		}
	})
	return out
}

// parentPath is the ID without its last type.
func (r resourceID) parentPath() string {
	p, _ := r.parent()
	return p.String()
}

// labelFree says whether no public IP of a region has a DNS label.
func (c *call) labelFree(label, location string) bool {
	free := label != ""
	c.s.read(func(t *tx) {
		for _, d := range t.all(typePublicIP, "") {
			if d.location() == location && strings.EqualFold(str(props(cloneObject(d.Body)), "dnsSettings", "domainNameLabel"), label) {
				free = false
			}
		}
	})
	return free
}

// machineSizes is the older list of sizes, which az vm list-sizes asks for.
func machineSizes() []any {
	out := []any{}
	for _, s := range sizes {
		out = append(out, object{"name": s.name, "numberOfCores": s.cores, "memoryInMB": s.memoryMiB, "maxDataDiskCount": 2 * s.cores, "osDiskSizeInMB": 1047552, "resourceDiskSizeInMB": localDiskOf(s).temp << 10})
	}
	return out
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
