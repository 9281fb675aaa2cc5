package arm

import (
	"net/netip"
	"slices"
	"strings"
)

// balancerArrays are there in every answer, even when empty.
var balancerArrays = []string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "probes", "inboundNatRules", "outboundRules", "inboundNatPools"}

func prepareBalancer(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	for _, a := range balancerArrays {
		setDefault(p, a, []any{})
	}
	setDefault(ensure(d.Body, "sku"), "name", "Standard")
	setDefault(ensure(d.Body, "sku"), "tier", "Regional")
	for _, a := range balancerArrays {
		for _, e := range items(p, a) {
			props(e)["provisioningState"] = statusSucceeded
		}
	}
	for _, f := range items(p, "frontendIPConfigurations") {
		fp := props(f)
		subnet := str(fp, "subnet", "id")
		switch {
		case subnet == "" && str(fp, "publicIPAddress", "id") == "":
			return badRequest("LoadBalancerFrontendIPConfigurationHasNoAddress", "Frontend IP configuration %s of load balancer %s needs a subnet or a public IP address.", str(f, "name"), d.ID)
		case subnet == "":
			setDefault(fp, "privateIPAllocationMethod", "Dynamic")
		default:
			var before object
			if old != nil {
				before = partOf(old.Body, "frontendIPConfigurations", str(f, "name"))
			}
			if e := t.allocate(d, fp, sub(before, "properties"), subnet); e != nil {
				return e
			}
		}
	}
	for _, r := range items(p, "loadBalancingRules") {
		if pools := items(props(r), "backendAddressPools"); len(pools) > 0 {
			setDefault(props(r), "backendAddressPool", clone(pools[0]))
		}
		for _, ref := range []string{"frontendIPConfiguration", "backendAddressPool", "probe"} {
			if id := str(props(r), ref, "id"); id != "" && strings.HasPrefix(lower(id), d.key()+"/") {
				if part, err := parseID(id); err != nil || partOf(d.Body, part.Types[len(part.Types)-1], part.name()) == nil {
					return errReference(id, d.ID)
				}
			}
		}
	}
	return nil
}

func viewBalancer(t *tx, d *doc, body object, _ string) {
	p := props(body)
	for _, pool := range items(p, "backendAddressPools") {
		if configs := t.configsUsing(str(pool, "id")); len(configs) > 0 {
			props(pool)["backendIPConfigurations"] = ids(configs)
		}
	}
	for _, nat := range items(p, "inboundNatRules") {
		if configs := t.configsUsing(str(nat, "id")); len(configs) > 0 {
			props(nat)["backendIPConfiguration"] = object{"id": configs[0]}
		}
	}
	back := map[string]map[string][]string{}
	for _, rules := range []string{"loadBalancingRules", "inboundNatRules", "outboundRules"} {
		for _, r := range items(p, rules) {
			references(props(r), func(id string) {
				key := lower(id)
				if back[key] == nil {
					back[key] = map[string][]string{}
				}
				back[key][rules] = append(back[key][rules], str(r, "id"))
			})
		}
	}
	for _, a := range []string{"frontendIPConfigurations", "backendAddressPools", "probes"} {
		for _, e := range items(p, a) {
			for rules, users := range back[lower(str(e, "id"))] {
				props(e)[rules] = ids(users)
			}
		}
	}
}

// configsUsing lists the IP configurations of interfaces that point at an ID.
func (t *tx) configsUsing(id string) []string {
	var out []string
	for _, n := range t.interfacesUsing(id) {
		for _, c := range n.configs {
			if slices.Contains(c.refs, lower(id)) {
				out = append(out, n.ID+"/ipConfigurations/"+c.name)
			}
		}
	}
	return out
}

func prepareNIC(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	configs := items(p, "ipConfigurations")
	if len(configs) == 0 {
		return badRequest("NetworkInterfaceMustHaveOneIpConfiguration", "Network interface %s needs an IP configuration.", d.ID)
	}
	for i, c := range configs {
		cp := props(c)
		cp["provisioningState"] = statusSucceeded
		setDefault(cp, "primary", i == 0)
		setDefault(cp, "privateIPAddressVersion", "IPv4")
		subnet := str(cp, "subnet", "id")
		vnet, _, _ := strings.Cut(lower(subnet), "/subnets/")
		v := t.find(vnet)
		if v == nil || !t.exists(subnet) {
			return errReference(subnet, d.ID)
		}
		if v.location() != d.location() {
			return badRequest("InvalidResourceReference", "Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", subnet, d.ID)
		}
		var before object
		if old != nil {
			before = partOf(old.Body, "ipConfigurations", str(c, "name"))
		}
		if e := t.allocate(d, cp, sub(before, "properties"), subnet); e != nil {
			return e
		}
	}
	for _, f := range []string{"enableAcceleratedNetworking", "enableIPForwarding"} {
		setDefault(p, f, false)
	}
	setDefault(p, "nicType", "Standard")
	setDefault(ensure(p, "dnsSettings"), "dnsServers", []any{})
	setDefault(sub(p, "dnsSettings"), "internalDomainNameSuffix", "internal.cloudapp.net")
	d.Body["kind"] = "Regular"
	return nil
}

// allocate gives a configuration its private address: the one it had, the one
// it asks for, or the lowest that is free. The first four and the last address
// of a subnet are Azure's own.
func (t *tx) allocate(d *doc, p, before object, subnet string) *Error {
	_, s := t.part(subnet)
	if s == nil {
		return errReference(subnet, d.ID)
	}
	setDefault(p, "privateIPAllocationMethod", "Dynamic")
	version6 := str(p, "privateIPAddressVersion") == "IPv6"
	static := str(p, "privateIPAllocationMethod") == "Static"
	for _, prefix := range prefixes(sub(s, "properties")) {
		if prefix.Addr().Is6() != version6 {
			continue
		}
		if static {
			ip, err := netip.ParseAddr(str(p, "privateIPAddress"))
			if err != nil || !prefix.Contains(ip) {
				return badRequest("PrivateIPAddressNotInSubnet", "Private static IP address %s does not belong to the range of subnet prefix %s.", str(p, "privateIPAddress"), prefix)
			}
			if t.subnets[lower(subnet)].holds(ip, d.key()) {
				return badRequest("PrivateIPAddressInUse", "IP configuration of %s is using the private IP address %s which is already allocated.", d.ID, ip)
			}
			return nil
		}
		if ip, err := netip.ParseAddr(str(before, "privateIPAddress")); err == nil && prefix.Contains(ip) {
			p["privateIPAddress"] = ip.String()
			return nil
		}
	}
	delete(p, "privateIPAddress") // a dynamic one is not the client's to choose
	given := map[netip.Addr]bool{}
	for _, c := range gistOf(d).configs { // the document's own are not in the store yet
		given[c.address] = true
	}
	ip := t.free(subnet, version6, given)
	if ip == "" {
		return badRequest("SubnetIsFull", "Subnet %s does not have enough capacity for 1 IP addresses.", subnet)
	}
	p["privateIPAddress"] = ip
	return nil
}

func guardNIC(t *tx, d *doc) *Error {
	if vms := t.users(d.ID, typeVM); len(vms) > 0 {
		return badRequest("NicInUse", "Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.", d.ID, vms[0].ID)
	}
	return nil
}

func viewNIC(t *tx, d *doc, body object, _ string) {
	if vms := t.users(d.ID, typeVM); len(vms) > 0 {
		props(body)["virtualMachine"] = object{"id": vms[0].ID}
		props(body)["macAddress"] = mac(d.ETag[:0] + d.key())
		props(body)["primary"] = true
	}
}

// guardBalancer keeps a load balancer that a scale set's model names; one that
// interfaces of VMs use may go.
func guardBalancer(t *tx, d *doc) *Error {
	for _, set := range t.all(typeScale, "") {
		uses := false
		references(set.Body, func(id string) { uses = uses || strings.HasPrefix(lower(id), d.key()+"/") })
		if uses {
			return badRequest("LoadBalancerInUseByVirtualMachineScaleSet", "Cannot delete load balancer %s since its child resources are in use by virtual machine scale set %s.", d.ID, set.ID)
		}
	}
	return nil
}
