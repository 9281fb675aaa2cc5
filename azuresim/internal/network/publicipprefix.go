package network

import (
	"fmt"
	"net/netip"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func preparePrefix(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	n, ok := value.Int(p, "prefixLength")
	if !ok || n < 24 || n > 31 {
		return engine.BadRequest("PublicIPPrefixInvalidPrefixLength",
			"The prefix length of public IP prefix %s must be from 24 to 31.", d.ID)
	}
	if old != nil {
		p["ipPrefix"] = value.Props(value.CloneObject(old.Body))["ipPrefix"]
		return nil
	}
	prefix, e := freePrefix(t, n)
	if e != nil {
		return e
	}
	p["ipPrefix"] = prefix.String()
	return nil
}

// freePrefix returns the lowest of 198.51.100.0/24 (RFC 5737) that no other prefix
// overlaps.
func freePrefix(t *engine.Tx, bits int) (netip.Prefix, *engine.Error) {
	var used []netip.Prefix
	for _, d := range t.All(typePrefix, "") {
		if p, err := netip.ParsePrefix(value.Str(d.Body, "properties", "ipPrefix")); err == nil {
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
	return netip.Prefix{}, engine.Conflict("PublicIPPrefixCountLimitReached",
		"No public prefix of length %d is free in the local Azure.", bits)
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
