package arm

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// prepareArrays gives a type the arrays that clients expect even when empty.
func prepareArrays(names ...string) func(t *tx, d, old *doc) *Error {
	return func(_ *tx, d, _ *doc) *Error {
		for _, n := range names {
			setDefault(props(d.Body), n, []any{})
		}
		return nil
	}
}

// viewUsers lists the resources that point at a document, by the arrays that
// Azure keeps them in.
func viewUsers(fields ...string) func(t *tx, d *doc, body object, expand string) {
	return func(t *tx, d *doc, body object, _ string) {
		for _, f := range fields {
			var users []string
			switch f {
			case "subnets":
				users = t.subnetsUsing(d.ID)
			case "networkInterfaces":
				users = idsOf(t.interfacesUsing(d.ID))
			case "virtualMachines":
				users = idsOf(t.users(d.ID, typeVM))
			}
			if len(users) > 0 {
				props(body)[f] = ids(users)
			}
		}
	}
}

func idsOf(records []*record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}

// subnetsUsing lists the subnets that point at an ID.
func (t *tx) subnetsUsing(id string) []string {
	var out []string
	for _, v := range t.sources(id, typeVNet) {
		for _, s := range items(props(v.Body), "subnets") {
			uses := false
			references(props(s), func(r string) { uses = uses || strings.EqualFold(r, id) })
			if uses {
				out = append(out, v.ID+"/subnets/"+str(s, "name"))
			}
		}
	}
	return out
}

func prefixes(o object) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range append(texts(o, "addressPrefixes"), str(o, "addressPrefix")) {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p)
		}
	}
	return out
}

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
		var user string
		switch d.Type {
		case typeNIC, typeScaleNIC:
			user = d.ID + "/ipConfigurations/" + d.configs[0].name
		case typeBalancer, typeScale, typeBastion:
			user = d.ID
		default:
			continue
		}
		return badRequest("InUseSubnetCannotBeDeleted", "Subnet %s is in use by %s and cannot be deleted. In order to delete the subnet, delete all the resources within the subnet. See aka.ms/deletesubnet.", subnet.name(), user)
	}
	return nil
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

// serveAddressCheck answers whether an address of a virtual network is free;
// false means that the path is something else.
func (c *call) serveAddressCheck() (bool, *Error) {
	vnet, ok := c.id.parent()
	if !ok || c.r.Method != http.MethodGet || lower(vnet.fullType()) != lower(typeVNet) || lower(c.id.tail()) != "checkipaddressavailability" {
		return false, nil
	}
	ip, err := netip.ParseAddr(c.query.Get("ipAddress"))
	if err != nil {
		return true, badRequest("InvalidIPAddress", "The IP address '%s' is invalid.", c.query.Get("ipAddress"))
	}
	var e *Error
	out := object{"available": false, "availableIPAddresses": []any{}, "isPlatformReserved": false}
	c.s.read(func(t *tx) {
		d := t.find(vnet.key())
		if d == nil {
			e = errNotFound(vnet)
			return
		}
		for _, s := range items(d.Body, "properties", "subnets") {
			for _, prefix := range prefixes(props(cloneObject(s))) {
				if prefix.Contains(ip) {
					out["available"] = !t.subnets[lower(d.ID+"/subnets/"+str(s, "name"))].holds(ip, "")
				}
			}
		}
	})
	if e != nil {
		return true, e
	}
	c.reply(http.StatusOK, out)
	return true, nil
}

func prepareNSG(_ *tx, d, _ *doc) *Error {
	p := props(d.Body)
	setDefault(p, "securityRules", []any{})
	seen := map[string]string{}
	for _, r := range items(p, "securityRules") {
		rp := props(r)
		n, _ := number(rp, "priority")
		if n < 100 || n > 4096 {
			return badRequest("SecurityRuleInvalidPriority", "Security rule has invalid priority. Value provided: %d Allowed range 100-4096.", n)
		}
		key := lower(str(rp, "direction")) + fmt.Sprint(n)
		if other := seen[key]; other != "" {
			return badRequest("SecurityRuleConflict", "Security rule %s conflicts with rule %s. Rules cannot have the same Priority and Direction.", str(r, "name"), other)
		}
		seen[key] = str(r, "name")
	}
	rule := func(name, direction, access, source, destination string, priority int) object {
		return object{"name": name, "properties": object{"provisioningState": statusSucceeded, "protocol": "*", "sourcePortRange": "*", "destinationPortRange": "*",
			"sourceAddressPrefix": source, "destinationAddressPrefix": destination, "access": access, "priority": float64(priority), "direction": direction}}
	}
	p["defaultSecurityRules"] = []any{
		rule("AllowVnetInBound", "Inbound", "Allow", "VirtualNetwork", "VirtualNetwork", 65000),
		rule("AllowAzureLoadBalancerInBound", "Inbound", "Allow", "AzureLoadBalancer", "*", 65001),
		rule("DenyAllInBound", "Inbound", "Deny", "*", "*", 65500),
		rule("AllowVnetOutBound", "Outbound", "Allow", "VirtualNetwork", "VirtualNetwork", 65000),
		rule("AllowInternetOutBound", "Outbound", "Allow", "*", "Internet", 65001),
		rule("DenyAllOutBound", "Outbound", "Deny", "*", "*", 65500),
	}
	return nil
}

func guardNSG(t *tx, d *doc) *Error {
	if sets := t.users(d.ID, typeScale); len(sets) > 0 {
		return badRequest("NetworkSecurityGroupInUseByVirtualMachineScaleSet", "Cannot delete network security group %s since it is in use by virtual machine scale set %s.", d.ID, sets[0].ID)
	}
	if users := append(t.subnetsUsing(d.ID), idsOf(t.users(d.ID, typeNIC))...); len(users) > 0 {
		return badRequest("InUseNetworkSecurityGroupCannotBeDeleted", "Network security group %s cannot be deleted because it is in use by the following resources: %s. In order to delete the Network security group, remove the association with the resource(s).", d.ID, strings.Join(users, ", "))
	}
	return nil
}

func guardTable(t *tx, d *doc) *Error {
	if users := t.subnetsUsing(d.ID); len(users) > 0 {
		return badRequest("InUseRouteTableCannotBeDeleted", "Route table %s is in use and cannot be deleted.", d.id.name())
	}
	return nil
}

func prepareGateway(_ *tx, d, _ *doc) *Error {
	if str(d.Body, "sku", "name") == "" {
		return badRequest("InvalidRequestFormat", "The NAT gateway %s needs sku.name.", d.ID)
	}
	setDefault(ensure(d.Body, "sku"), "tier", "Regional")
	setDefault(props(d.Body), "idleTimeoutInMinutes", float64(4))
	return nil
}

func guardGateway(t *tx, d *doc) *Error {
	if n := len(t.subnetsUsing(d.ID)); n > 0 {
		return badRequest("CannotDeleteNatGatewayAssociatedToSubnet", "NAT Gateway %s is still configured on %d subnets. Remove NAT Gateway from all referenced subnets and then delete NAT Gateway.", d.id.name(), n)
	}
	return nil
}

func preparePublicIP(_ *tx, d, old *doc) *Error {
	p := props(d.Body)
	setDefault(p, "idleTimeoutInMinutes", float64(4))
	setDefault(p, "publicIPAddressVersion", "IPv4")
	sku := ensure(d.Body, "sku")
	// Basic is the default of the API, though Azure gives no new ones since
	// September 2025; dynamic ones get their address at once here.
	setDefault(sku, "name", "Basic")
	setDefault(sku, "tier", "Regional")
	setDefault(p, "publicIPAllocationMethod", "Dynamic")
	if str(sku, "name") == "Standard" && str(p, "publicIPAllocationMethod") != "Static" {
		return badRequest("StandardSkuPublicIPAddressesMustBeStatic", "Standard sku publicIp %s must have AllocationMethod set to Static.", d.ID)
	}
	if old != nil {
		p["ipAddress"] = props(old.Body)["ipAddress"]
	}
	return nil
}

// runAddress allocates the address of a public IP, once.
func runAddress(_ context.Context, s *Server, op *operation) (any, *Error) {
	if raw, ok := s.Get(op.Target); !ok || strings.Contains(string(raw), `"ipAddress":"`) {
		return nil, nil
	}
	if s.cfg.PublicIP == nil {
		return "", nil
	}
	ip, err := s.cfg.PublicIP(op.Target)
	if err != nil {
		return nil, refuse(500, "PublicIPAddressAllocationFailed", "%s", err)
	}
	return ip, nil
}

func finishAddress(t *tx, op *operation, result any, err *Error) {
	d := t.edit(op.Target)
	if d == nil {
		return
	}
	p := props(d.Body)
	if ip, ok := result.(string); ok && err == nil {
		if ip == "" {
			ip = t.exampleAddress()
		}
		p["ipAddress"] = ip
	}
	if label := str(p, "dnsSettings", "domainNameLabel"); label != "" {
		sub(p, "dnsSettings")["fqdn"] = t.s.cfg.FQDN(label, d.location(), str(p, "ipAddress"))
	}
	t.put(d)
	finishPut(t, op, nil, err)
}

// exampleAddress is the lowest of 203.0.113.0/24 that is free.
func (t *tx) exampleAddress() string {
	used := map[string]bool{}
	for _, d := range t.all(typePublicIP, "") {
		used[str(props(d.Body), "ipAddress")] = true
	}
	for i := 1; i < 255; i++ {
		if ip := fmt.Sprintf("203.0.113.%d", i); !used[ip] {
			return ip
		}
	}
	return "203.0.113.255"
}

func guardPublicIP(t *tx, d *doc) *Error {
	if users := t.users(d.ID, ""); len(users) > 0 {
		return badRequest("PublicIPAddressCannotBeDeleted", "Public IP address %s can not be deleted since it is still allocated to resource %s. In order to delete the public IP, disassociate/detach the Public IP address from the resource.", d.ID, users[0].ID)
	}
	return nil
}

func viewPublicIP(t *tx, d *doc, body object, _ string) {
	for _, u := range t.sources(d.ID, "") {
		switch u.Type {
		case typeGateway:
			props(body)["natGateway"] = object{"id": u.ID}
		case typeNIC, typeBalancer:
			field := "ipConfigurations"
			if u.Type == typeBalancer {
				field = "frontendIPConfigurations"
			}
			for _, c := range items(props(u.Body), field) {
				if strings.EqualFold(str(props(c), "publicIPAddress", "id"), d.ID) {
					props(body)["ipConfiguration"] = object{"id": u.ID + "/" + field + "/" + str(c, "name")}
				}
			}
		}
	}
}

// interfacesUsing are the interfaces that point at an ID, those of scale sets'
// instances included.
func (t *tx) interfacesUsing(id string) []*record {
	return slices.Concat(t.users(id, typeNIC), t.users(id, typeScaleNIC))
}
