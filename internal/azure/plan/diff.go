package plan

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/azure/arm"
)

// writeOnly reports whether Azure accepts a field but never returns it. Such fields are secrets, or lead to secrets, so
// their values are not shown either.
func writeOnly(key string) bool {
	switch key {
	case "adminPassword", "customData", "userData", "protectedSettings", "secrets":
		return true
	}
	return false
}

// diff returns the fields in want that are missing or different in have, each as "path: have -> want". Fields that are
// only in have are not compared.
//
// Azure ignores case in IDs, enums and names, and spells locations in several ways; tags are exact. Elements of lists
// that have a name or an ID are matched by it, and have may contain more of them; other lists are compared as sets.
func diff(have, want map[string]any) []string {
	var d differ
	d.object("", have, want)
	slices.Sort(d.found)
	return d.found
}

type differ struct{ found []string }

func (d *differ) differ(path string, have, want any) {
	d.found = append(d.found, fmt.Sprintf("%s: %s -> %s", path, show(have), show(want)))
}

func (d *differ) object(path string, have, want map[string]any) {
	for key, w := range want {
		if writeOnly(key) {
			continue
		}
		d.value(join(path, key), have[key], w)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *differ) value(path string, have, want any) {
	switch w := want.(type) {
	case nil:
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok && have != nil {
			d.differ(path, have, want)
			return
		}
		d.object(path, h, w)
	case []any:
		h, _ := have.([]any)
		d.list(path, h, w)
	default:
		if !same(path, have, want) {
			d.differ(path, have, want)
		}
	}
}

func (d *differ) list(path string, have, want []any) {
	if len(want) == 0 {
		return
	}
	if keyOf(want[0]) == "" {
		if !sameSet(path, have, want) {
			d.differ(path, have, want)
		}
		return
	}
	for _, w := range want {
		key := keyOf(w)
		element := fmt.Sprintf("%s[%s]", path, arm.NameOf(key))
		i := slices.IndexFunc(have, func(h any) bool { return strings.EqualFold(keyOf(h), key) })
		if i < 0 {
			d.found = append(d.found, element+": missing -> present")
			continue
		}
		d.value(element, have[i], w)
	}
}

// keyOf returns the text that identifies an element of a list: its name, or the ID that it refers to.
func keyOf(element any) string {
	m, ok := element.(map[string]any)
	if !ok {
		return ""
	}
	if name, ok := m["name"].(string); ok {
		return name
	}
	id, _ := m["id"].(string)
	return id
}

// sameSet compares lists whose elements have no keys; order is ignored.
func sameSet(path string, have, want []any) bool {
	if len(have) != len(want) {
		return false
	}
	left := slices.Clone(have)
	for _, w := range want {
		i := slices.IndexFunc(left, func(h any) bool {
			var d differ
			d.value(path, h, w)
			return len(d.found) == 0
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// same compares scalars.
func same(path string, have, want any) bool {
	h, hok := have.(string)
	w, wok := want.(string)
	if !hok || !wok {
		// Azure may omit a field that is false or zero.
		return have == want || have == nil && (want == false || want == float64(0) || want == "")
	}
	switch {
	case path == "tags" || strings.HasPrefix(path, "tags."):
		return h == w
	case path == "location" || strings.HasSuffix(path, ".location"):
		return strings.EqualFold(strings.ReplaceAll(h, " ", ""), strings.ReplaceAll(w, " ", ""))
	}
	return strings.EqualFold(h, w)
}

// show returns a value as shortened text for a message.
func show(v any) string {
	const longest = 80
	switch v.(type) {
	case nil:
		return "none"
	case map[string]any:
		return "set"
	}
	s := fmt.Sprint(v)
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return s
}
