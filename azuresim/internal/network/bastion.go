package network

import (
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// bastionSubnet is the name that a bastion's subnet must have.
const bastionSubnet = "AzureBastionSubnet"

func prepareBastion(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	configs := value.Items(p, "ipConfigurations")
	if len(configs) == 0 && value.Str(d.Body, "sku", "name") != "Developer" {
		return engine.BadRequest("BastionHostMustHaveOneIpConfiguration", "Bastion host %s needs an IP configuration.", d.ID)
	}
	for _, c := range configs {
		subnet := value.Str(value.Props(c), "subnet", "id")
		_, s := t.Part(subnet)
		if s == nil {
			return engine.ErrReference(subnet, d.ID)
		}
		if !strings.HasSuffix(value.Lower(subnet), "/subnets/"+value.Lower(bastionSubnet)) {
			return engine.BadRequest("BastionHostSubnetNameInvalid", "The subnet of bastion host %s must be named %s.", d.ID, bastionSubnet)
		}
		for _, prefix := range engine.Prefixes(value.Props(s)) {
			if prefix.Addr().Is4() && prefix.Bits() > 26 {
				return engine.BadRequest("BastionHostSubnetSizeTooSmall",
					"The subnet %s of bastion host %s must have a prefix of /26 or larger.", prefix, d.ID)
			}
		}
	}
	p["dnsName"] = "bst-" + uuid.NewString() + ".bastion.azure.com"
	if old != nil {
		p["dnsName"] = value.Props(value.CloneObject(old.Body))["dnsName"]
	}
	return nil
}

// viewBastion shows the DNS name of a host when its creation has ended.
func viewBastion(_ *engine.Tx, _ *engine.Doc, body value.Object, _ string) {
	completeChildren(body, "ipConfigurations", bastionConfigs, false)
	if value.Str(body, "properties", "provisioningState") == updating {
		delete(value.Props(body), "dnsName")
	}
}

// bastionConfigs is the name of a Bastion host's IP configurations in resource IDs.
const bastionConfigs = "bastionHostIpConfigurations"
