package arm

import (
	"net/http"
	"strings"
)

// networkUsages counts a region's network resources against Azure's limits.
func networkUsages(c *call) *Error {
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
	c.reply(http.StatusOK, object{"value": out})
	return nil
}

// labelFree says whether no public IP of a region has a DNS label.
func labelFree(c *call, label, location string) bool {
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
