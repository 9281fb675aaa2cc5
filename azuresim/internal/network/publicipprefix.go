package network

import (
	"net/netip"
	"slices"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func preparePrefix(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	n, ok := value.Int(p, "prefixLength")
	from, space := 24, exampleSpace
	if value.Str(p, "publicIPAddressVersion") == "IPv6" {
		from, space = 124, exampleSpace6
	}
	if to := space.Addr().BitLen() - 1; !ok || n < from || n > to {
		return engine.BadRequest("PublicIPPrefixInvalidPrefixLength",
			"The prefix length of public IP prefix %s must be from %d to %d.", d.ID, from, to)
	}
	if old != nil {
		p["ipPrefix"] = value.Props(value.CloneObject(old.Body))["ipPrefix"]
		return nil
	}
	prefix, e := freePrefix(t, space, n)
	if e != nil {
		return e
	}
	p["ipPrefix"] = prefix.String()
	return nil
}

// exampleSpace and exampleSpace6 are the address spaces of the public IP prefixes (RFC 5737, RFC
// 3849).
var exampleSpace, exampleSpace6 = netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:64::/112")

// freePrefix returns the lowest prefix of a space that no other prefix overlaps.
func freePrefix(t *engine.Tx, space netip.Prefix, bits int) (netip.Prefix, *engine.Error) {
	var used []netip.Prefix
	for _, d := range t.All(typePrefix, "") {
		if p, err := netip.ParsePrefix(value.Str(d.Body, "properties", "ipPrefix")); err == nil {
			used = append(used, p)
		}
	}
	for p := netip.PrefixFrom(space.Addr(), bits); space.Contains(p.Addr()); p = netip.PrefixFrom(after(p), bits) {
		if !slices.ContainsFunc(used, p.Overlaps) {
			return p, nil
		}
	}
	return netip.Prefix{}, engine.Conflict("PublicIPPrefixCountLimitReached",
		"No public prefix of length %d is free in the local Azure.", bits)
}

// after returns the first address after a prefix that has at most eight host bits.
func after(p netip.Prefix) netip.Addr {
	ip := p.Addr()
	for range 1 << (ip.BitLen() - p.Bits()) {
		ip = ip.Next()
	}
	return ip
}

func guardPrefix(t *engine.Tx, d *engine.Doc) *engine.Error {
	if users := t.Users(d.ID, ""); len(users) > 0 {
		return engine.BadRequest("PublicIPPrefixCannotBeDeleted",
			"Public IP prefix %s cannot be deleted since it is in use by %s.", d.ID, users[0].ID)
	}
	return nil
}

func viewPrefix(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if users := engine.IdsOf(t.Users(d.ID, typePublicIP)); len(users) > 0 {
		value.Props(body)["publicIPAddresses"] = value.IDs(users)
	}
	if value.Str(body, "properties", "provisioningState") == updating {
		delete(value.Props(body), "ipPrefix")
	}
}
