package arm

import "strings"

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

func guardNIC(t *tx, d *doc) *Error {
	if vms := t.usersAs(d.ID, asVirtualMachine); len(vms) > 0 {
		return badRequest("NicInUse", "Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.", d.ID, vms[0].ID)
	}
	return nil
}

func viewNIC(t *tx, d *doc, body object, _ string) {
	if vms := t.usersAs(d.ID, asVirtualMachine); len(vms) > 0 {
		props(body)["virtualMachine"] = object{"id": vms[0].ID}
		props(body)["macAddress"] = mac(d.ETag[:0] + d.key())
		props(body)["primary"] = true
	}
}
