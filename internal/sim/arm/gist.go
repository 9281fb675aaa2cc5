package arm

import "net/netip"

// gist is what the store works out of a document once, when the document is
// filed, for scans over many documents: reading it from the JSON each time made
// a write slower with each machine there was.
type gist struct {
	key string
	// addresses are the private addresses that it holds in subnets.
	addresses []netip.Addr
	cost      cost
}

// cost is what a machine takes of the quota; none when cores is 0.
type cost struct {
	subscription, location, family string
	cores                          int
	spot                           bool
}

func gistOf(d *doc) *gist {
	g := &gist{key: lower(d.ID)}
	switch d.Type {
	case typeNIC, typeScaleNIC, typeBalancer:
		for _, field := range []string{"ipConfigurations", "frontendIPConfigurations"} {
			for _, c := range items(d.Body, "properties", field) {
				if ip, err := netip.ParseAddr(str(c, "properties", "privateIPAddress")); err == nil {
					g.addresses = append(g.addresses, ip)
				}
			}
		}
	case typeVM:
		g.cost = costOf(d, str(d.Body, "properties", "hardwareProfile", "vmSize"), isSpot(sub(d.Body, "properties")))
	case typeInstance:
		g.cost = costOf(d, str(d.Body, "sku", "name"), isSpot(d.Hidden))
	}
	return g
}

// costOf counts a machine of a size, unless it is being deleted.
func costOf(d *doc, name string, spot bool) cost {
	sz, ok := sizeNamed(name)
	if !ok || d.state() == "Deleting" {
		return cost{}
	}
	return cost{subscription: lower(d.id.Subscription), location: d.location(), family: sz.family, cores: sz.cores, spot: spot}
}
