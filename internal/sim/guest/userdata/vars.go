package userdata

import "strings"

// Alias adds to instance data, for every key with hyphens, the spelling with underscores, because Jinja reads a-b as
// a subtraction.
func Alias(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if inner, ok := v.(map[string]any); ok {
			v = Alias(inner)
		}
		out[k] = v
		if u := strings.ReplaceAll(k, "-", "_"); u != k {
			if _, taken := m[u]; !taken {
				out[u] = v
			}
		}
	}
	return out
}
