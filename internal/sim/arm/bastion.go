package arm

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

const (
	typeBastion = "Microsoft.Network/bastionHosts"
	typePrefix  = "Microsoft.Network/publicIPPrefixes"
)

func bastionKinds() []*kind {
	return []*kind{
		{typ: typeBastion, style: styleNetwork, takes: 5 * time.Minute, prepare: prepareBastion},
		{typ: typePrefix, style: styleNetwork, takes: 5 * time.Second, prepare: preparePrefix, guard: guardPrefix, view: viewPrefix},
	}
}

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

func preparePrefix(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	setDefault(ensure(d.Body, "sku"), "name", "Standard")
	setDefault(sub(d.Body, "sku"), "tier", "Regional")
	setDefault(p, "publicIPAddressVersion", "IPv4")
	n, ok := number(p, "prefixLength")
	if !ok || n < 24 || n > 31 {
		return badRequest("PublicIPPrefixInvalidPrefixLength", "The prefix length of public IP prefix %s must be from 24 to 31.", d.ID)
	}
	if old != nil {
		p["ipPrefix"] = props(cloneObject(old.Body))["ipPrefix"]
		return nil
	}
	prefix, e := t.freePrefix(n)
	if e != nil {
		return e
	}
	p["ipPrefix"] = prefix.String()
	return nil
}

// freePrefix is the lowest of 198.51.100.0/24 (RFC 5737) that no other prefix
// overlaps.
func (t *tx) freePrefix(bits int) (netip.Prefix, *Error) {
	var used []netip.Prefix
	for _, d := range t.all(typePrefix, "") {
		if p, err := netip.ParsePrefix(str(d.Body, "properties", "ipPrefix")); err == nil {
			used = append(used, p)
		}
	}
	for i := 0; i < 256; i += 1 << (32 - bits) {
		p := netip.MustParsePrefix(fmt.Sprintf("198.51.100.%d/%d", i, bits))
		free := true
		for _, u := range used {
			free = free && !u.Overlaps(p)
		}
		if free {
			return p, nil
		}
	}
	return netip.Prefix{}, conflict("PublicIPPrefixCountLimitReached", "No public prefix of length %d is free in the local Azure.", bits)
}

func guardPrefix(t *tx, d *doc) *Error {
	if users := t.users(d.ID, ""); len(users) > 0 {
		return badRequest("PublicIPPrefixCannotBeDeleted", "Public IP prefix %s cannot be deleted since it is in use by %s.", d.ID, users[0].ID)
	}
	return nil
}

func viewPrefix(t *tx, d *doc, body object, _ string) {
	if users := idsOf(t.users(d.ID, typePublicIP)); len(users) > 0 {
		props(body)["publicIPAddresses"] = ids(users)
	}
}
