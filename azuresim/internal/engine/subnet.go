package engine

import (
	"fmt"
	"hash/fnv"
	"net/netip"

	"casement.dev/casement/azuresim/internal/value"
)

func Prefixes(o value.Object) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range append(value.Texts(o, "addressPrefixes"), value.Str(o, "addressPrefix")) {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Mac returns a MAC address in Microsoft's range that is derived from the interface's ID.
func Mac(seed string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(value.Lower(seed))) // never fails (hash.Hash)
	n := h.Sum32()
	return fmt.Sprintf("00-0D-3A-%02X-%02X-%02X", byte(n>>16), byte(n>>8), byte(n))
}
