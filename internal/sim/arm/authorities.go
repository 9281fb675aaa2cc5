package arm

import "slices"

// authorities is what instance discovery tells of the token services: each host
// is its own network and cache, so that a client stays with the one it asked.
func authorities(asked string) []any {
	var out []any
	known := false
	for _, c := range Clouds() {
		known = known || slices.Contains(c.Logins, asked)
		out = append(out, object{"preferred_network": c.Logins[0], "preferred_cache": c.Logins[0], "aliases": anys(c.Logins)})
	}
	if !known {
		out = append(out, object{"preferred_network": asked, "preferred_cache": asked, "aliases": []any{asked}})
	}
	return out
}
