// Package writable has the writable members of resources according to Azure's description (writable.tsv: facts of
// Azure/bicep-types-az, MIT, made by hack/writable), so that a resource that was read can be written again. It does not
// judge values or their owners. Code that writes to Azure uses it.
package writable

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed writable.tsv
var table string

// object maps the writable members of an object, in lower case because responses vary in case, to the name of the
// object type of the member, or "".
type object map[string]string

// others is the entry for all members that are not named, such as tags.
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

// Known reports whether Azure's description has a resource type in an API version.
func Known(resourceType, apiVersion string) bool {
	_, ok := objects()[typed(resourceType, apiVersion)]
	return ok
}

func typed(resourceType, apiVersion string) string {
	return strings.ToLower(resourceType) + "@" + apiVersion
}

// Of returns the writable part of a resource that was read in an API version: without members that are read-only or not
// described. It returns nil if the description lacks the type in that version.
func Of(resourceType, apiVersion string, read map[string]any) map[string]any {
	if !Known(resourceType, apiVersion) {
		return nil
	}
	return copyOf(typed(resourceType, apiVersion), read).(map[string]any)
}

// copyOf returns the writable part of a value: an object, a list of objects, or any other value unchanged.
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

// mirrored reports whether an element is a backend address that Azure derives from a network interface: all
// its members are read-only.
func mirrored(name string, element any) bool {
	if name != "LoadBalancerBackendAddress" {
		return false
	}
	properties, _ := element.(map[string]any)["properties"].(map[string]any)
	return len(properties) == 0
}
