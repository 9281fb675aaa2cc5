package arm

import (
	"fmt"
	"net/netip"
)

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
