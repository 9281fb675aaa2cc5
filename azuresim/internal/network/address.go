package network

import (
	"net/netip"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// allocate sets the private address of a configuration: its previous address, the requested
// address, or the lowest free address. Azure reserves the first four addresses and the last address
// of a subnet.
func allocate(t *engine.Tx, d *engine.Doc, p, before value.Object, subnet string) *engine.Error {
	_, s := t.Part(subnet)
	if s == nil {
		return engine.ErrReference(subnet, d.ID)
	}
	version6 := value.Str(p, "privateIPAddressVersion") == "IPv6"
	static := value.Str(p, "privateIPAllocationMethod") == "Static"
	for _, prefix := range engine.Prefixes(value.Sub(s, "properties")) {
		if prefix.Addr().Is6() != version6 {
			continue
		}
		if static {
			ip, err := netip.ParseAddr(value.Str(p, "privateIPAddress"))
			if err != nil || !prefix.Contains(ip) {
				return engine.BadRequest("PrivateIPAddressNotInSubnet",
					"Private static IP address %s does not belong to the range of subnet prefix %s.",
					value.Str(p, "privateIPAddress"), prefix)
			}
			if t.Taken(subnet, ip, d.Key()) {
				return engine.BadRequest("PrivateIPAddressInUse",
					"IP configuration of %s is using the private IP address %s which is already allocated.", d.ID,
					ip)
			}
			return nil
		}
		if ip, err := netip.ParseAddr(value.Str(before, "privateIPAddress")); err == nil && prefix.Contains(ip) {
			p["privateIPAddress"] = ip.String()
			return nil
		}
	}
	delete(p, "privateIPAddress") // the client cannot choose a dynamic address
	given := map[netip.Addr]bool{}
	for _, c := range engine.SummaryOf(t.Server.Registry.TypeOf(d.Type), d).Configs { // the document's own addresses are not in the store yet
		given[c.Address] = true
	}
	ip := t.FreeAddress(subnet, version6, given)
	if ip == "" {
		return engine.BadRequest("SubnetIsFull", "Subnet %s does not have enough capacity for 1 IP addresses.", subnet)
	}
	p["privateIPAddress"] = ip
	return nil
}
