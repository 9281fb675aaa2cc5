package arm

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// TypeOf returns the resource type of a resource ID, collection path or action path, such as
// "Microsoft.Compute/virtualMachines": the segments after the last "providers", without the names. Resource
// groups are "Microsoft.Resources/resourceGroups".
func TypeOf(id string) string {
	segments := split(id)
	at := lastIndexFold(segments, "providers")
	if at < 0 || at+1 >= len(segments) {
		if len(segments) >= 3 {
			return "Microsoft.Resources/resourceGroups"
		}
		return "Microsoft.Resources/subscriptions"
	}
	parts := []string{segments[at+1]}
	for i := at + 2; i < len(segments); i += 2 {
		parts = append(parts, segments[i])
	}
	return strings.Join(parts, "/")
}

// NameOf returns the last segment of a resource ID.
func NameOf(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// GroupOf returns the ID of the resource group that a resource is in, or "".
func GroupOf(id string) string {
	segments := split(id)
	if len(segments) < 4 || !strings.EqualFold(segments[2], "resourceGroups") {
		return ""
	}
	return "/" + strings.Join(segments[:4], "/")
}

// ParentOf returns the ID of the resource that a child resource is part of, or "" for a resource directly in a group or
// subscription.
func ParentOf(id string) string {
	segments := split(id)
	at := lastIndexFold(segments, "providers")
	// namespace, type, name, child type, child name
	if at < 0 || len(segments)-at < 6 {
		return ""
	}
	return "/" + strings.Join(segments[:len(segments)-2], "/")
}

// Nameable reports whether an ID or path can belong to a resource: each segment is a valid name by ARM's
// general rules. A name that contains a path would address another resource.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
func Nameable(id string) bool {
	if !strings.HasPrefix(id, "/") {
		return false
	}
	for _, name := range strings.Split(id[1:], "/") {
		odd := func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`<>%&\?#`, r) }
		if name == "" || name == "." || name == ".." || len(name) > longestName ||
			strings.ContainsFunc(name, odd) || !utf8.ValidString(name) {
			return false
		}
	}
	return true
}

// longestName is longer than any name that a resource type allows.
const longestName = 512

// Key returns the form of a resource ID for comparison, in lower case: Azure ignores case.
func Key(id string) string { return strings.ToLower(strings.TrimSuffix(id, "/")) }

func split(id string) []string { return strings.Split(strings.Trim(id, "/"), "/") }

func lastIndexFold(segments []string, s string) int {
	for i := len(segments) - 1; i >= 0; i-- {
		if strings.EqualFold(segments[i], s) {
			return i
		}
	}
	return -1
}

// pathOf returns the path of a URL; text that is not a URL is returned unchanged.
func pathOf(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return u.Path
	}
	return raw
}
