package arm

import (
	"fmt"
	"strings"
)

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
	if sets := t.usersAs(d.ID, asScaleSet); len(sets) > 0 {
		return badRequest("NetworkSecurityGroupInUseByVirtualMachineScaleSet", "Cannot delete network security group %s since it is in use by virtual machine scale set %s.", d.ID, sets[0].ID)
	}
	if users := append(t.subnetsUsing(d.ID), idsOf(t.users(d.ID, typeNIC))...); len(users) > 0 {
		return badRequest("InUseNetworkSecurityGroupCannotBeDeleted", "Network security group %s cannot be deleted because it is in use by the following resources: %s. In order to delete the Network security group, remove the association with the resource(s).", d.ID, strings.Join(users, ", "))
	}
	return nil
}
