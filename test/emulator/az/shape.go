package main

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	guid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	// vaultURI includes the port of the local Azure.
	vaultURI = regexp.MustCompile(`^https://[a-z0-9-]+\.vault\.casement\.localhost(:\d+)?/$`)
)

// kinds maps NAME in <NAME> of a shape to a check of the value.
var kinds = map[string]func(any) bool{
	"any":    func(v any) bool { return v != nil },
	"string": func(v any) bool { s, ok := v.(string); return ok && s != "" },
	"number": func(v any) bool { _, ok := v.(float64); return ok },
	"guid":   func(v any) bool { s, ok := v.(string); return ok && guid.MatchString(s) },
	"vault":  func(v any) bool { s, ok := v.(string); return ok && vaultURI.MatchString(s) },
	"id": func(v any) bool {
		s, ok := v.(string)
		return ok && strings.HasPrefix(strings.ToLower(s), "/subscriptions/")
	},
	"etag":  func(v any) bool { s, ok := v.(string); return ok && strings.HasPrefix(s, `W/"`) },
	"empty": func(v any) bool { l, ok := v.([]any); return ok && len(l) == 0 },
	"ip": func(v any) bool {
		s, _ := v.(string)
		_, err := netip.ParseAddr(s)
		return err == nil
	},
	"time": func(v any) bool {
		s, _ := v.(string)
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil
	},
}

// match returns the places where got does not have the shape want. Keys that are not in want are
// ignored; each element of a list in want must match an element of got; null means an absent value.
func match(path string, want, got any) []string {
	switch w := want.(type) {
	case nil:
		if got != nil {
			return []string{fmt.Sprintf("%s is %v, want nothing", path, got)}
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, want an object", path, got)}
		}
		var out []string
		for _, k := range slices.Sorted(maps.Keys(w)) {
			out = append(out, match(path+"."+k, w[k], g[k])...)
		}
		return out
	case []any:
		return matchList(path, w, got)
	case string:
		return matchText(path, w, got)
	default:
		if want != got {
			return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)}
		}
	}
	return nil
}

func matchList(path string, want []any, got any) []string {
	g, ok := got.([]any)
	if !ok {
		return []string{fmt.Sprintf("%s is %v, want a list", path, got)}
	}
	var out []string
	for i, w := range want {
		best := []string{"there is no element"}
		for j, e := range g {
			p := match(fmt.Sprintf("%s[%d]", path, j), w, e)
			if len(p) == 0 {
				best = nil
				break
			}
			if j == 0 || len(p) < len(best) {
				best = p
			}
		}
		for _, p := range best {
			out = append(out, fmt.Sprintf("%s: element %d of the shape: %s", path, i, p))
		}
	}
	return out
}

func matchText(path, want string, got any) []string {
	name, ok := strings.CutPrefix(want, "<")
	if ok && strings.HasSuffix(name, ">") {
		kind, known := kinds[strings.TrimSuffix(name, ">")]
		switch {
		case !known:
			return []string{path + ": the shape has an unknown kind " + want}
		case !kind(got):
			return []string{fmt.Sprintf("%s is %v, want %s", path, got, want)}
		}
		return nil
	}
	if want != got {
		return []string{fmt.Sprintf("%s is %v, want %q", path, got, want)}
	}
	return nil
}

// part returns the value at a path with dots; numbers are indexes.
func part(v any, path string) (string, bool) {
	for _, p := range strings.Split(path, ".") {
		switch c := v.(type) {
		case map[string]any:
			v = c[p]
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(c) {
				return "", false
			}
			v = c[i]
		default:
			return "", false
		}
	}
	s, ok := v.(string)
	return s, ok
}
