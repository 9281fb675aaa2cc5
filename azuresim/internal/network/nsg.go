package network

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func prepareNSG(_ *engine.Tx, d, _ *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	seen := map[string]string{}
	for _, r := range value.Items(p, "securityRules") {
		rp := value.Props(r)
		if e := checkRule(value.Str(r, "name"), rp); e != nil {
			return e
		}
		n, _ := value.Int(rp, "priority")
		key := value.Lower(value.Str(rp, "direction")) + fmt.Sprint(n)
		if other := seen[key]; other != "" {
			return engine.BadRequest("SecurityRuleConflict",
				"Security rule %s conflicts with rule %s. Rules cannot have the same Priority and Direction.",
				value.Str(r, "name"), other)
		}
		seen[key] = value.Str(r, "name")
	}
	rule := func(name, direction, access, source, destination string, priority int, description string) value.Object {
		return value.Object{"name": name, "properties": value.Object{"provisioningState": engine.StatusSucceeded, "protocol": "*",
			"sourcePortRange": "*", "destinationPortRange": "*", "description": description,
			"sourceAddressPrefix": source, "destinationAddressPrefix": destination, "access": access,
			"priority": float64(priority), "direction": direction}}
	}
	p["defaultSecurityRules"] = []any{
		rule("AllowVnetInBound", "Inbound", "Allow", "VirtualNetwork", "VirtualNetwork", 65000,
			"Allow inbound traffic from all VMs in VNET"),
		rule("AllowAzureLoadBalancerInBound", "Inbound", "Allow", "AzureLoadBalancer", "*", 65001,
			"Allow inbound traffic from azure load balancer"),
		rule("DenyAllInBound", "Inbound", "Deny", "*", "*", 65500, "Deny all inbound traffic"),
		rule("AllowVnetOutBound", "Outbound", "Allow", "VirtualNetwork", "VirtualNetwork", 65000,
			"Allow outbound traffic from all VMs to all VMs in VNET"),
		rule("AllowInternetOutBound", "Outbound", "Allow", "*", "Internet", 65001, "Allow outbound traffic from all VMs to Internet"),
		rule("DenyAllOutBound", "Outbound", "Deny", "*", "*", 65500, "Deny all outbound traffic"),
	}
	return nil
}

// checkRule returns an error if a rule lacks its source, its destination or one of their ports. The
// error code is an assumption.
func checkRule(name string, rule value.Object) *engine.Error {
	for _, needs := range [][]string{
		{"sourcePortRange", "sourcePortRanges"}, {"destinationPortRange", "destinationPortRanges"},
		{"sourceAddressPrefix", "sourceAddressPrefixes", "sourceApplicationSecurityGroups"},
		{"destinationAddressPrefix", "destinationAddressPrefixes", "destinationApplicationSecurityGroups"},
	} {
		if !slices.ContainsFunc(needs, func(field string) bool {
			list, many := rule[field].([]any)
			return many && len(list) > 0 || value.Str(rule, field) != ""
		}) {
			return engine.BadRequest("SecurityRuleParameterNotSpecified", "Required security rule parameters are missing for security rule "+
				"with Identifier: %s. Security rule must specify %s.", name, strings.Join(needs, " or "))
		}
	}
	return nil
}

func guardNSG(t *engine.Tx, d *engine.Doc) *engine.Error {
	if sets := t.UsersAs(d.ID, engine.AsScaleSet); len(sets) > 0 {
		return engine.BadRequest("NetworkSecurityGroupInUseByVirtualMachineScaleSet",
			"Cannot delete network security group %s since it is in use by virtual machine scale set %s.", d.ID,
			sets[0].ID)
	}
	if users := append(subnetsUsing(t, d.ID), engine.IdsOf(t.Users(d.ID, typeNIC))...); len(users) > 0 {
		return engine.BadRequest("InUseNetworkSecurityGroupCannotBeDeleted", "Network security group %s cannot "+
			"be deleted because it is in use by the following resources: %s. In order to delete the Network "+
			"security group, remove the association with the resource(s).", d.ID, strings.Join(users, ", "))
	}
	return nil
}

func viewNSG(t *engine.Tx, d *engine.Doc, body value.Object, expand string) {
	viewUsers("subnets", "networkInterfaces")(t, d, body, expand)
	followState(body, "securityRules", "defaultSecurityRules")
}
