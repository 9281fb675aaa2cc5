package network

import (
	"strings"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// balancerArrays are the arrays that every answer contains, even if they are empty.
var balancerArrays = []string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "probes",
	"inboundNatRules", "outboundRules", "inboundNatPools"}

// basicEnd is the day since which Azure creates no load balancers and addresses of the SKU Basic.
const basicEnd = "2025-09-30"

func prepareBalancer(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	for _, a := range balancerArrays {
		for _, e := range value.Items(p, a) {
			value.Props(e)["provisioningState"] = engine.StatusSucceeded
		}
	}
	defaults.Fill(typeBalancer, d.Version, d.Body)
	if e := samePort(d, p); e != nil {
		return e
	}
	if old == nil && value.Str(d.Body, "sku", "name") == "Basic" && engine.Retired(t.Now, basicEnd) {
		return engine.BadRequest("OperationNotAllowed", "Basic Load Balancer was retired on September 30, 2025: create a Standard Load "+
			"Balancer. See https://learn.microsoft.com/azure/load-balancer/load-balancer-basic-upgrade-guidance.")
	}
	for _, f := range value.Items(p, "frontendIPConfigurations") {
		fp := value.Props(f)
		subnet := value.Str(fp, "subnet", "id")
		switch {
		case subnet == "" && value.Str(fp, "publicIPAddress", "id") == "":
			return engine.BadRequest("LoadBalancerFrontendIPConfigurationHasNoAddress",
				"Frontend IP configuration %s of load balancer %s needs a subnet or a public IP address.",
				value.Str(f, "name"), d.ID)
		case subnet != "":
			var before value.Object
			if old != nil {
				before = engine.PartOf(old.Body, "frontendIPConfigurations", value.Str(f, "name"))
			}
			if e := allocate(t, d, fp, value.Sub(before, "properties"), subnet); e != nil {
				return e
			}
		}
	}
	for _, r := range value.Items(p, "loadBalancingRules") {
		if pools := value.Items(value.Props(r), "backendAddressPools"); len(pools) > 0 {
			value.SetDefault(value.Props(r), "backendAddressPool", value.Clone(pools[0]))
		}
		for _, ref := range []string{"frontendIPConfiguration", "backendAddressPool", "probe"} {
			if id := value.Str(value.Props(r), ref, "id"); id != "" && strings.HasPrefix(value.Lower(id), d.Key()+"/") {
				if part, err := engine.ParseID(id); err != nil || engine.PartOf(d.Body, part.Types[len(part.Types)-1], part.Name()) == nil {
					return engine.ErrReference(id, d.ID)
				}
			}
		}
	}
	return nil
}

// samePort returns an error if two rules use the same port of a frontend. Source: "Port numbers for
// each rule must be unique within the load balancer"
// (learn.microsoft.com/rest/api/load-balancer/load-balancers/create-or-update); the message is that
// of RulesUseSameBackendPortProtocolAndIPConfig.
func samePort(d *engine.Doc, p value.Object) *engine.Error {
	type claim struct {
		rule, frontend, protocol string
		first, last              int
	}
	var claims []claim
	for _, kind := range []string{"loadBalancingRules", "inboundNatRules", "inboundNatPools"} {
		for _, r := range value.Items(p, kind) {
			rp := value.Props(r)
			c := claim{d.ID + "/" + kind + "/" + value.Str(r, "name"), value.Str(rp, "frontendIPConfiguration", "id"),
				value.Str(rp, "protocol"), 0, 0}
			if port, ok := value.Int(rp, "frontendPort"); ok {
				c.first, c.last = port, port
			} else {
				c.first, _ = value.Int(rp, "frontendPortRangeStart")
				c.last, _ = value.Int(rp, "frontendPortRangeEnd")
			}
			for _, o := range claims {
				protocols := strings.EqualFold(c.protocol, o.protocol) || strings.EqualFold(c.protocol, "All") || strings.EqualFold(o.protocol, "All")
				if strings.EqualFold(c.frontend, o.frontend) && protocols && c.first <= o.last && o.first <= c.last && c.last > 0 {
					return engine.BadRequest("RulesUseSameFrontendPortProtocolAndIPConfig", "Load balancer rules %s and %s use the same "+
						"frontend port %d and protocol %s, and must not be used with the same frontend IP configuration %s.",
						o.rule, c.rule, max(c.first, o.first), c.protocol, c.frontend)
				}
			}
			claims = append(claims, c)
		}
	}
	return nil
}

func viewBalancer(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	p := value.Props(body)
	for _, pool := range value.Items(p, "backendAddressPools") {
		if configs := configsUsing(t, value.Str(pool, "id")); len(configs) > 0 {
			value.Props(pool)["backendIPConfigurations"] = value.IDs(configs)
		}
	}
	for _, nat := range value.Items(p, "inboundNatRules") {
		if configs := configsUsing(t, value.Str(nat, "id")); len(configs) > 0 {
			value.Props(nat)["backendIPConfiguration"] = value.Object{"id": configs[0]}
		}
	}
	back := map[string]map[string][]string{}
	for _, rules := range []string{"loadBalancingRules", "inboundNatRules", "outboundRules", "inboundNatPools"} {
		for _, r := range value.Items(p, rules) {
			value.References(value.Props(r), func(id string) {
				key := value.Lower(id)
				if back[key] == nil {
					back[key] = map[string][]string{}
				}
				back[key][rules] = append(back[key][rules], value.Str(r, "id"))
			})
		}
	}
	for _, a := range []string{"frontendIPConfigurations", "backendAddressPools", "probes"} {
		for _, e := range value.Items(p, a) {
			for rules, users := range back[value.Lower(value.Str(e, "id"))] {
				value.Props(e)[rules] = value.IDs(users)
			}
		}
	}
	followState(body, balancerArrays...)
}

// balancerAtOnce reports whether a write affects no machine: it changes nothing, or the load
// balancer has no address in a virtual network and no machine in its pools.
func balancerAtOnce(t *engine.Tx, d, old *engine.Doc) bool {
	if unchanged(t, d, old) {
		return true
	}
	p := value.Props(d.Body)
	for _, f := range value.Items(p, "frontendIPConfigurations") {
		if value.Str(f, "properties", "subnet", "id") != "" {
			return false
		}
	}
	for _, pool := range value.Items(p, "backendAddressPools") {
		if len(t.Users(d.ID+"/backendAddressPools/"+value.Str(pool, "name"), "")) > 1 { // the rules of the load balancer itself are one user
			return false
		}
	}
	return true
}

// guardBalancer refuses to delete a load balancer that a scale set's model names; interfaces of VMs
// do not prevent the delete.
func guardBalancer(t *engine.Tx, d *engine.Doc) *engine.Error {
	if set := t.UsersBelow(d.ID, engine.AsScaleSet); set != nil {
		return engine.BadRequest("LoadBalancerInUseByVirtualMachineScaleSet",
			"Cannot delete load balancer %s since its child resources are in use by virtual machine scale set %s.",
			d.ID, set.ID)
	}
	return nil
}
