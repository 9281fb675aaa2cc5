package arm

import (
	"net/netip"
	"slices"
	"strings"
)

func prepareVNet(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	setDefault(p, "virtualNetworkPeerings", []any{})
	setDefault(p, "enableDdosProtection", false)
	if old != nil && p["subnets"] == nil {
		p["subnets"] = clone(props(old.Body)["subnets"])
	}
	setDefault(p, "subnets", []any{})
	space := prefixes(sub(p, "addressSpace"))
	if len(space) == 0 {
		return badRequest("InvalidRequestFormat", "The virtual network %s needs an address prefix in properties.addressSpace.addressPrefixes.", d.ID)
	}
	subnets := items(p, "subnets")
	for i, s := range subnets {
		id := d.ID + "/subnets/" + str(s, "name")
		sp := props(s)
		mine := prefixes(sp)
		if len(mine) == 0 {
			return badRequest("NetcfgInvalidSubnet", "Subnet '%s' is not valid because it has no address prefix.", str(s, "name"))
		}
		for _, m := range mine {
			if !slices.ContainsFunc(space, func(v netip.Prefix) bool { return v.Contains(m.Addr()) && v.Bits() <= m.Bits() }) {
				return badRequest("NetcfgInvalidSubnet", "Subnet '%s' is not valid because its IP address range is outside the IP address range of virtual network '%s'.", str(s, "name"), d.id.name())
			}
			for _, o := range subnets[:i] {
				if slices.ContainsFunc(prefixes(props(o)), m.Overlaps) {
					return badRequest("NetcfgSubnetRangesOverlap", "Subnet '%s' is not valid because its IP address range overlaps with that of an existing subnet in virtual network '%s'.", str(s, "name"), d.id.name())
				}
			}
		}
		sp["provisioningState"] = statusSucceeded
		setDefault(sp, "privateEndpointNetworkPolicies", "Disabled")
		setDefault(sp, "privateLinkServiceNetworkPolicies", "Enabled")
		setDefault(sp, "delegations", []any{})
		s["id"] = id
	}
	return t.keepUsedSubnets(d, old)
}

// keepUsedSubnets: a vnet without a subnet that it had deletes that subnet.
func (t *tx) keepUsedSubnets(d, old *doc) *Error {
	if old == nil {
		return nil
	}
	for _, s := range items(props(old.Body), "subnets") {
		if partOf(d.Body, "subnets", str(s, "name")) == nil {
			if e := t.subnetInUse(d.id.child("subnets", str(s, "name"))); e != nil {
				return e
			}
		}
	}
	return nil
}

// subnetInUse refuses what would take a subnet away from its users.
func (t *tx) subnetInUse(subnet resourceID) *Error {
	for _, d := range t.users(subnet.key(), "") {
		user := d.ID
		switch k := t.s.registry.typeOf(d.Type); {
		case k.is(asInterface):
			user = d.ID + "/ipConfigurations/" + d.configs[0].name
		case !k.is(asOwner):
			continue
		}
		return badRequest("InUseSubnetCannotBeDeleted", "Subnet %s is in use by %s and cannot be deleted. In order to delete the subnet, delete all the resources within the subnet. See aka.ms/deletesubnet.", subnet.name(), user)
	}
	return nil
}

// guardSubnet keeps a subnet that is in use; other parts may go.
func guardSubnet(t *tx, part string, id resourceID) *Error {
	if part != "subnets" {
		return nil
	}
	return t.subnetInUse(id)
}

func guardVNet(t *tx, d *doc) *Error {
	for _, s := range items(props(d.Body), "subnets") {
		if e := t.subnetInUse(d.id.child("subnets", str(s, "name"))); e != nil {
			return e
		}
	}
	return nil
}

func viewVNet(t *tx, d *doc, body object, _ string) {
	for _, p := range items(props(body), "virtualNetworkPeerings") {
		t.viewPeering(d, props(p))
	}
	for _, s := range items(props(body), "subnets") {
		var configs []string
		for _, n := range t.interfacesUsing(str(s, "id")) {
			for _, c := range n.configs {
				configs = append(configs, n.ID+"/ipConfigurations/"+c.name)
			}
		}
		if len(configs) > 0 {
			props(s)["ipConfigurations"] = ids(configs)
		}
	}
}

// viewPeering computes how a peering stands: connected once both sides have one.
func (t *tx) viewPeering(d *doc, p object) {
	p["peeringState"], p["peeringSyncLevel"] = "Initiated", "RemoteNotInSync"
	remote := t.find(str(p, "remoteVirtualNetwork", "id"))
	if remote == nil {
		p["peeringState"] = "Disconnected"
		return
	}
	space := clone(sub(remote.Body, "properties", "addressSpace"))
	p["remoteAddressSpace"], p["remoteVirtualNetworkAddressSpace"] = space, space
	for _, back := range items(remote.Body, "properties", "virtualNetworkPeerings") {
		if strings.EqualFold(str(back, "properties", "remoteVirtualNetwork", "id"), d.ID) {
			p["peeringState"], p["peeringSyncLevel"] = "Connected", "FullyInSync"
		}
	}
}
