package arm

import "strings"

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

// guardBalancer keeps a load balancer that a scale set's model names; one that
// interfaces of VMs use may go.
func guardBalancer(t *tx, d *doc) *Error {
	if set := t.usersBelow(d.ID, asScaleSet); set != nil {
		return badRequest("LoadBalancerInUseByVirtualMachineScaleSet", "Cannot delete load balancer %s since its child resources are in use by virtual machine scale set %s.", d.ID, set.ID)
	}
	return nil
}
