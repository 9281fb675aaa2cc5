package network

import (
	"net/netip"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func prepareVNet(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	value.SetDefault(p, "virtualNetworkPeerings", []any{})
	value.SetDefault(p, "enableDdosProtection", false)
	if old != nil && p["subnets"] == nil {
		p["subnets"] = value.Clone(value.Props(old.Body)["subnets"])
	}
	value.SetDefault(p, "subnets", []any{})
	space := engine.Prefixes(value.Sub(p, "addressSpace"))
	if len(space) == 0 {
		return engine.BadRequest("InvalidRequestFormat", "The virtual network %s needs an address prefix in properties.addressSpace.addressPrefixes.", d.ID)
	}
	subnets := value.Items(p, "subnets")
	for i, s := range subnets {
		id := d.ID + "/subnets/" + value.Str(s, "name")
		sp := value.Props(s)
		mine := engine.Prefixes(sp)
		if len(mine) == 0 {
			return engine.BadRequest("NetcfgInvalidSubnet", "Subnet '%s' is not valid because it has no address prefix.", value.Str(s, "name"))
		}
		for _, m := range mine {
			if !slices.ContainsFunc(space, func(v netip.Prefix) bool { return v.Contains(m.Addr()) && v.Bits() <= m.Bits() }) {
				return engine.BadRequest("NetcfgInvalidSubnet", "Subnet '%s' is not valid because its IP address range is outside the IP address range of virtual network '%s'.", value.Str(s, "name"), d.Parsed.Name())
			}
			for _, o := range subnets[:i] {
				if slices.ContainsFunc(engine.Prefixes(value.Props(o)), m.Overlaps) {
					return engine.BadRequest("NetcfgSubnetRangesOverlap", "Subnet '%s' is not valid because its IP address range overlaps with that of an existing subnet in virtual network '%s'.", value.Str(s, "name"), d.Parsed.Name())
				}
			}
		}
		sp["provisioningState"] = engine.StatusSucceeded
		value.SetDefault(sp, "privateEndpointNetworkPolicies", "Disabled")
		value.SetDefault(sp, "privateLinkServiceNetworkPolicies", "Enabled")
		value.SetDefault(sp, "delegations", []any{})
		s["id"] = id
	}
	return keepUsedSubnets(t, d, old)
}

// keepUsedSubnets: a vnet without a subnet that it had deletes that subnet.
func keepUsedSubnets(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if old == nil {
		return nil
	}
	for _, s := range value.Items(value.Props(old.Body), "subnets") {
		if engine.PartOf(d.Body, "subnets", value.Str(s, "name")) == nil {
			if e := subnetInUse(t, d.Parsed.Child("subnets", value.Str(s, "name"))); e != nil {
				return e
			}
		}
	}
	return nil
}

// subnetInUse refuses what would take a subnet away from its users.
func subnetInUse(t *engine.Tx, subnet engine.ID) *engine.Error {
	for _, d := range t.Users(subnet.Key(), "") {
		user := d.ID
		switch k := t.Server.Registry.TypeOf(d.Type); {
		case k.Is(engine.AsInterface):
			user = d.ID + "/ipConfigurations/" + d.Configs[0].Name
		case !k.Is(engine.AsOwner):
			continue
		}
		return engine.BadRequest("InUseSubnetCannotBeDeleted", "Subnet %s is in use by %s and cannot be deleted. In order to delete the subnet, delete all the resources within the subnet. See aka.ms/deletesubnet.", subnet.Name(), user)
	}
	return nil
}

// guardSubnet keeps a subnet that is in use; other parts may go.
func guardSubnet(t *engine.Tx, part string, id engine.ID) *engine.Error {
	if part != "subnets" {
		return nil
	}
	return subnetInUse(t, id)
}

func guardVNet(t *engine.Tx, d *engine.Doc) *engine.Error {
	for _, s := range value.Items(value.Props(d.Body), "subnets") {
		if e := subnetInUse(t, d.Parsed.Child("subnets", value.Str(s, "name"))); e != nil {
			return e
		}
	}
	return nil
}

func viewVNet(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	for _, p := range value.Items(value.Props(body), "virtualNetworkPeerings") {
		viewPeering(t, d, value.Props(p))
	}
	for _, s := range value.Items(value.Props(body), "subnets") {
		var configs []string
		for _, n := range interfacesUsing(t, value.Str(s, "id")) {
			for _, c := range n.Configs {
				configs = append(configs, n.ID+"/ipConfigurations/"+c.Name)
			}
		}
		if len(configs) > 0 {
			value.Props(s)["ipConfigurations"] = value.IDs(configs)
		}
	}
}

// viewPeering computes how a peering stands: connected once both sides have one.
func viewPeering(t *engine.Tx, d *engine.Doc, p value.Object) {
	p["peeringState"], p["peeringSyncLevel"] = "Initiated", "RemoteNotInSync"
	remote := t.Find(value.Str(p, "remoteVirtualNetwork", "id"))
	if remote == nil {
		p["peeringState"] = "Disconnected"
		return
	}
	space := value.Clone(value.Sub(remote.Body, "properties", "addressSpace"))
	p["remoteAddressSpace"], p["remoteVirtualNetworkAddressSpace"] = space, space
	for _, back := range value.Items(remote.Body, "properties", "virtualNetworkPeerings") {
		if strings.EqualFold(value.Str(back, "properties", "remoteVirtualNetwork", "id"), d.ID) {
			p["peeringState"], p["peeringSyncLevel"] = "Connected", "FullyInSync"
		}
	}
}
