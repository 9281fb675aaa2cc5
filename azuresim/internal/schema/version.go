package schema

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed versions.tsv
var versionsTSV string

// versions maps resource types in lower case to their API versions.
var versions = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(versionsTSV) {
		types, list, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for t := range strings.FieldsSeq(types) {
			out[strings.ToLower(t)] = strings.Fields(list)
		}
	}
	return out
})

// Versions returns the API versions that Azure has of a resource type, newest first. A child type
// has the versions of its parent type, because Azure's description lacks many versions of child
// types. It returns nil for a type that is not described.
func Versions(resourceType string) []string {
	namespace, rest, _ := strings.Cut(strings.ToLower(resourceType), "/")
	root, _, _ := strings.Cut(rest, "/")
	return versions()[namespace+"/"+root]
}

//go:embed children.txt
var childrenText string

var children = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(childrenText) {
		out[strings.TrimSpace(line)] = true
	}
	return out
})

// Had reports whether Azure ever had a resource type, according to its description.
func Had(resourceType string) bool {
	if strings.Count(resourceType, "/") < 2 {
		return Versions(resourceType) != nil
	}
	return children()[strings.ToLower(resourceType)]
}

// Describes reports whether the types of a namespace are described. Then all are, so that a type
// without a description never existed.
func Describes(namespace string) bool {
	for t := range versions() {
		if in, _, _ := strings.Cut(t, "/"); strings.EqualFold(in, namespace) {
			return true
		}
	}
	return false
}
