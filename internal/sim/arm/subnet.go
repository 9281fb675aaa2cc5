package arm

import (
	"fmt"
	"hash/fnv"
	"net/netip"
)

func prefixes(o object) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range append(texts(o, "addressPrefixes"), str(o, "addressPrefix")) {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// mac is an address of Microsoft's range, made from the interface's ID.
func mac(seed string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(lower(seed))) // never fails (hash.Hash)
	n := h.Sum32()
	return fmt.Sprintf("00-0D-3A-%02X-%02X-%02X", byte(n>>16), byte(n>>8), byte(n))
}
