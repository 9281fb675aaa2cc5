package entra

import (
	"slices"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// authorities is what instance discovery says of the token services: each host
// is its own network and cache, so that a client stays with the one it asked.
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
