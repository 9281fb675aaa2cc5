package entra

import (
	"slices"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// authorities returns the answer of instance discovery about token services. Each host is in a
// group of its own, so that a client's token cache and later requests use the host of the first
// request.
func authorities(asked string) []any {
	var out []any
	known := false
	for _, c := range engine.Clouds() {
		known = known || slices.Contains(c.Logins, asked)
		out = append(out, value.Object{"preferred_network": c.Logins[0], "preferred_cache": c.Logins[0], "aliases": value.Anys(c.Logins)})
	}
	if !known {
		out = append(out, value.Object{"preferred_network": asked, "preferred_cache": asked, "aliases": []any{asked}})
	}
	return out
}
