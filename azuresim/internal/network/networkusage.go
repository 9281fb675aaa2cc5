package network

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// networkUsages answers the number of network resources in a region and Azure's limits.
func networkUsages(c *engine.Request) *engine.Error {
	out := []any{}
	location := engine.Region(c.ID.Names[0])
	c.Server.Read(func(t *engine.Tx) {
		for _, u := range []struct {
			name, typ string
			limit     int
		}{{"VirtualNetworks", typeVNet, 1000}, {"NetworkSecurityGroups", typeNSG, 5000},
			{"NetworkInterfaces", typeNIC, 65536}, {"PublicIPAddresses", typePublicIP, 1000},
			{"LoadBalancers", typeBalancer, 1000}, {"RouteTables", typeTable, 200}, {"NatGateways", typeGateway, 1000}} {
			n := 0
			for r := range t.Scan(u.typ, "/subscriptions/"+c.ID.Subscription) {
				if r.Location == location {
					n++
				}
			}
			out = append(out, value.Object{"id": c.ID.ParentPath() + "/usages/" + u.name,
				"name": value.Object{"value": u.name, "localizedValue": u.name}, "unit": "Count", "currentValue": n,
				"limit": u.limit})
		}
	})
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}

// labelFree reports whether a DNS label is available in a region: it is not empty, and no public IP of the region has it.
func labelFree(c *engine.Request, label, location string) bool {
	free := label != ""
	c.Server.Read(func(t *engine.Tx) {
		for _, d := range t.All(typePublicIP, "") {
			if d.Location() == location && strings.EqualFold(value.Str(value.Props(value.CloneObject(d.Body)),
				"dnsSettings", "domainNameLabel"), label) {
				free = false
			}
		}
	})
	return free
}
