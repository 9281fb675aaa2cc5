// Package writable knows which members of a resource Azure's description lets one write
// (writable.tsv: facts of Azure/bicep-types-az, MIT, made by hack/writable), so that a resource
// that was read can be written again. It refuses to judge values and to know what is whose. What
// writes to Azure uses it.
package writable

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed writable.tsv
var table string

// object are the members of an object that can be written, in lower case because answers spell
// some in their own way, each with the name of the object in it or "".
type object map[string]string

// others is the member for all that are not named, such as tags.
const others = "*"

var objects = sync.OnceValue(func() map[string]object {
	all := map[string]object{}
	for line := range strings.Lines(table) {
		name, members, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(name, "#") {
			continue
		}
		all[name] = object{}
		for ok && members != "" {
			var member string
			member, members, ok = strings.Cut(members, " ")
			member, of, _ := strings.Cut(member, ":")
			all[name][strings.ToLower(member)] = of
		}
	}
	return all
})

// Known reports whether a resource type is described in an API version.
func Known(resourceType, apiVersion string) bool {
	_, ok := objects()[typed(resourceType, apiVersion)]
	return ok
}

func typed(resourceType, apiVersion string) string {
	return strings.ToLower(resourceType) + "@" + apiVersion
}

// Of returns what can be written of a resource that was read in an API version: without what is
// read-only and what the description does not have. It returns nil for a type that is not
// described in that version.
func Of(resourceType, apiVersion string, read map[string]any) map[string]any {
	if !Known(resourceType, apiVersion) {
		return nil
	}
	return copyOf(typed(resourceType, apiVersion), read).(map[string]any)
}

// copyOf returns what can be written of a value, which is an object, a list of them or neither.
func copyOf(name string, v any) any {
	if name == "" {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			if of, ok := memberOf(objects()[name], key); ok {
				out[key] = copyOf(of, member)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			if c := copyOf(name, e); !mirrored(name, c) {
				out = append(out, c)
			}
		}
		return out
	}
	return v
}

func memberOf(o object, key string) (of string, ok bool) {
	if of, ok = o[strings.ToLower(key)]; !ok {
		of, ok = o[others]
	}
	return of, ok
}

// mirrored reports an address of a backend pool that Azure shows for an interface, which the
// interface asks for: all that it says is read-only.
func mirrored(name string, element any) bool {
	if name != "LoadBalancerBackendAddress" {
		return false
	}
	properties, _ := element.(map[string]any)["properties"].(map[string]any)
	return len(properties) == 0
}
