package arm

import "strings"

// bastionSubnet is the name that a bastion's subnet must have.
const bastionSubnet = "AzureBastionSubnet"

func prepareBastion(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	setDefault(ensure(d.Body, "sku"), "name", "Standard")
	configs := items(p, "ipConfigurations")
	if len(configs) == 0 && str(d.Body, "sku", "name") != "Developer" {
		return badRequest("BastionHostMustHaveOneIpConfiguration", "Bastion host %s needs an IP configuration.", d.ID)
	}
	for _, c := range configs {
		subnet := str(props(c), "subnet", "id")
		_, s := t.part(subnet)
		if s == nil {
			return errReference(subnet, d.ID)
		}
		if !strings.HasSuffix(lower(subnet), "/subnets/"+lower(bastionSubnet)) {
			return badRequest("BastionHostSubnetNameInvalid", "The subnet of bastion host %s must be named %s.", d.ID, bastionSubnet)
		}
		for _, prefix := range prefixes(props(s)) {
			if prefix.Addr().Is4() && prefix.Bits() > 26 {
				return badRequest("BastionHostSubnetSizeTooSmall", "The subnet %s of bastion host %s must have a prefix of /26 or larger.", prefix, d.ID)
			}
		}
		props(c)["provisioningState"] = statusSucceeded
		setDefault(props(c), "privateIPAllocationMethod", "Dynamic")
	}
	setDefault(p, "scaleUnits", float64(2))
	p["dnsName"] = "bst-" + t.s.guid() + ".bastion.azure.com"
	if old != nil {
		p["dnsName"] = props(cloneObject(old.Body))["dnsName"]
	}
	return nil
}
