package arm

import "net/netip"

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
			if t.taken(subnet, ip, d.key()) {
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
	for _, c := range gistOf(t.s.registry.typeOf(d.Type), d).configs { // the document's own are not in the store yet
		given[c.address] = true
	}
	ip := t.free(subnet, version6, given)
	if ip == "" {
		return badRequest("SubnetIsFull", "Subnet %s does not have enough capacity for 1 IP addresses.", subnet)
	}
	p["privateIPAddress"] = ip
	return nil
}
