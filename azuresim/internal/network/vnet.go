package network

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// smallestSubnet is the longest prefix of a subnet: eight addresses, of which Azure reserves five.
// Source: https://learn.microsoft.com/azure/virtual-network/virtual-networks-faq.
const smallestSubnet = 29

func prepareVNet(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	for _, part := range []string{"subnets", "virtualNetworkPeerings"} {
		if old != nil && p[part] == nil {
			p[part] = value.Clone(value.Sub(old.Body, "properties")[part])
		}
	}
	for _, peering := range value.Items(p, "virtualNetworkPeerings") {
		value.SetDefault(value.Props(peering), "resourceGuid", peeringGUID(t, old, value.Str(peering, "name")))
	}
	space := engine.Prefixes(value.Sub(p, "addressSpace"))
	if len(space) == 0 {
		return engine.BadRequest("InvalidRequestFormat",
			"The virtual network %s needs an address prefix in properties.addressSpace.addressPrefixes.", d.ID)
	}
	subnets := value.Items(p, "subnets")
	for i, s := range subnets {
		id := d.ID + "/subnets/" + value.Str(s, "name")
		sp := value.Props(s)
		mine := engine.Prefixes(sp)
		if len(mine) == 0 {
			return engine.BadRequest("NetcfgInvalidSubnet",
				"Subnet '%s' is not valid because it has no address prefix.", value.Str(s, "name"))
		}
		for _, m := range mine {
			if m.Addr().Is4() && m.Bits() > smallestSubnet {
				return engine.BadRequest("NetcfgInvalidSubnet", "Subnet '%s' is not valid in virtual network '%s'.",
					value.Str(s, "name"), d.Parsed.Name())
			}
			if !slices.ContainsFunc(space, func(v netip.Prefix) bool { return v.Contains(m.Addr()) && v.Bits() <= m.Bits() }) {
				return engine.BadRequest("NetcfgSubnetRangeOutsideVnet", "Subnet '%s' is not valid because its IP "+
					"address range is outside the IP address range of virtual network "+
					"'%s'.", value.Str(s, "name"), d.Parsed.Name())
			}
			for _, o := range subnets[:i] {
				if slices.ContainsFunc(engine.Prefixes(value.Props(o)), m.Overlaps) {
					return engine.BadRequest("NetcfgSubnetRangesOverlap", "Subnet '%s' is not valid because its "+
						"IP address range overlaps with that of an existing subnet in virtual network "+
						"'%s'.", value.Str(s, "name"), d.Parsed.Name())
				}
			}
		}
		sp["provisioningState"] = engine.StatusSucceeded
		for _, delegation := range value.Items(sp, "delegations") {
			value.SetDefault(value.Props(delegation), "actions", delegatedActions(value.Str(delegation, "properties", "serviceName")))
		}
		s["id"] = id
	}
	return keepUsedSubnets(t, d, old)
}

// delegatedActions returns the actions that a service may perform in a subnet that is delegated to
// it, which Azure sets and requests do not contain: for a service that is not in the table, only to
// join. Source: https://learn.microsoft.com/rest/api/virtualnetwork/available-delegations/list.
func delegatedActions(service string) []any {
	const subnets = "Microsoft.Network/virtualNetworks/subnets/"
	join := subnets + "join/action"
	switch value.Lower(service) {
	case "microsoft.containerinstance/containergroups", "microsoft.web/serverfarms", "microsoft.web/hostingenvironments",
		"microsoft.batch/batchaccounts", "microsoft.logic/integrationserviceenvironments":
		return []any{subnets + "action"}
	case "microsoft.netapp/volumes", "microsoft.hardwaresecuritymodules/dedicatedhsms":
		return []any{"Microsoft.Network/networkinterfaces/*", join}
	case "microsoft.databricks/workspaces", "microsoft.sql/managedinstances":
		return []any{join, subnets + "prepareNetworkPolicies/action", subnets + "unprepareNetworkPolicies/action"}
	}
	return []any{join}
}

// keepUsedSubnets refuses a write of a virtual network that omits a subnet in use, because such a
// write deletes the subnet.
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

// subnetInUse returns an error if a resource has an address of a subnet.
func subnetInUse(t *engine.Tx, subnet engine.ID) *engine.Error {
	for _, d := range t.Users(subnet.Key(), "") {
		user := d.ID
		switch k := t.Server.Registry.TypeOf(d.Type); {
		case k.Is(engine.AsInterface):
			user = d.ID + "/ipConfigurations/" + d.Configs[0].Name
		case !k.Is(engine.AsOwner):
			continue
		}
		return engine.BadRequest("InUseSubnetCannotBeDeleted", "Subnet %s is in use by %s and cannot be "+
			"deleted. In order to delete the subnet, delete all the resources within the subnet. See "+
			"aka.ms/deletesubnet.", subnet.Name(), user)
	}
	return nil
}

// guardSubnet refuses to delete a subnet that is in use; other parts can be deleted.
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

// peeringGUID returns the resourceGuid of a peering, which never changes during the peering's life.
func peeringGUID(t *engine.Tx, old *engine.Doc, name string) string {
	if old != nil {
		if guid := value.Str(engine.PartOf(old.Body, "virtualNetworkPeerings", name), "properties", "resourceGuid"); guid != "" {
			return guid
		}
	}
	return uuid.NewString()
}

func viewVNet(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if d.MadeBy(t) {
		followState(body, "subnets")
	}
	for _, p := range value.Items(value.Props(body), "virtualNetworkPeerings") {
		viewPeering(t, d, value.Props(p))
	}
	for _, s := range value.Items(value.Props(body), "subnets") {
		completeChildren(s, "delegations", "delegations", false)
		if configs := subnetConfigs(t, value.Str(s, "id")); len(configs) > 0 {
			value.Props(s)["ipConfigurations"] = value.IDs(configs)
		}
		if endpoints := engine.IdsOf(t.Users(value.Str(s, "id"), typeEndpoint)); len(endpoints) > 0 {
			value.Props(s)["privateEndpoints"] = value.IDs(endpoints)
		}
	}
}

// subnetConfigs returns the IP configurations that have an address of a subnet.
func subnetConfigs(t *engine.Tx, subnet string) []string {
	var out []string
	for _, n := range interfacesUsing(t, subnet) {
		for _, c := range n.Configs {
			out = append(out, n.ID+"/ipConfigurations/"+c.Name)
		}
	}
	for _, d := range t.Sources(subnet, "") {
		field, path := "frontendIPConfigurations", "frontendIPConfigurations"
		if d.Type == typeBastion {
			field, path = "ipConfigurations", bastionConfigs
		}
		if d.Type != typeBastion && d.Type != typeBalancer {
			continue
		}
		for _, c := range value.Items(d.Body, "properties", field) {
			if strings.EqualFold(value.Str(c, "properties", "subnet", "id"), subnet) {
				out = append(out, d.ID+"/"+path+"/"+value.Str(c, "name"))
			}
		}
	}
	return out
}

// viewPeering computes the state of a peering: it is connected if both sides have a peering.
func viewPeering(t *engine.Tx, d *engine.Doc, p value.Object) {
	p["peeringState"], p["peeringSyncLevel"] = "Initiated", "RemoteNotInSync"
	if remote := t.Find(value.Str(p, "remoteVirtualNetwork", "id")); remote == nil {
		p["peeringState"] = "Disconnected"
	} else {
		space := value.Clone(value.Sub(remote.Body, "properties", "addressSpace"))
		p["remoteAddressSpace"], p["remoteVirtualNetworkAddressSpace"] = space, space
		for _, back := range value.Items(remote.Body, "properties", "virtualNetworkPeerings") {
			if strings.EqualFold(value.Str(back, "properties", "remoteVirtualNetwork", "id"), d.ID) {
				p["peeringState"], p["peeringSyncLevel"] = "Connected", "FullyInSync"
			}
		}
	}
	if !t.Since("2021-03-01") {
		delete(p, "peeringSyncLevel")
		delete(p, "remoteVirtualNetworkAddressSpace")
	}
}
