package main

import (
	"maps"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// form is the kind of object that a path addresses.
type form int

const (
	none  form = iota
	whole      // a separate resource
	part       // a child that is part of its parent
)

// parts returns the child types that are part of their parent.
func parts() map[string][]string {
	return map[string][]string{
		"microsoft.network/virtualnetworks":       {"subnets", "virtualnetworkpeerings"},
		"microsoft.network/networksecuritygroups": {"securityrules", "defaultsecurityrules"},
		"microsoft.network/routetables":           {"routes"},
		"microsoft.network/loadbalancers": {"backendaddresspools", "inboundnatrules",
			"frontendipconfigurations", "probes", "loadbalancingrules", "outboundrules"},
		"microsoft.network/networkinterfaces": {"ipconfigurations"},
	}
}

// split splits a path below a resource group: the part before the last /providers/, the namespace,
// and the segments after it.
func split(path string) (scope, namespace string, rest []string) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndex(strings.ToLower(path), "/providers/")
	if i < 0 {
		return path, "", nil
	}
	segments := strings.Split(path[i+len("/providers/"):], "/")
	return path[:i], segments[0], segments[1:]
}

// owner returns the resource that a path names, or to which its collection or action belongs; ""
// for a path of the subscription.
func owner(path string) (string, form) {
	scope, namespace, rest := split(path)
	if namespace == "" {
		if g := groupOf(path); g != "" {
			return g, whole
		}
		return "", none
	}
	if !strings.Contains(strings.ToLower(scope), "/resourcegroups/") {
		return "", none
	}
	if len(rest)%2 == 1 {
		rest = rest[:len(rest)-1]
		if len(rest) == 0 {
			return scope, whole // a collection of the group or of a resource
		}
	}
	if n := len(rest); n >= 2 && strings.EqualFold(rest[n-2], "instanceView") {
		rest = rest[:n-2]
	}
	id := scope + "/providers/" + namespace + "/" + strings.Join(rest, "/")
	if len(rest) == 4 && slices.Contains(parts()[strings.ToLower(namespace+"/"+rest[0])], strings.ToLower(rest[2])) {
		return id, part
	}
	if len(rest) > 4 {
		if slices.Contains(parts()[strings.ToLower(namespace+"/"+rest[0])], strings.ToLower(rest[2])) {
			return owner(scope + "/providers/" + namespace + "/" + strings.Join(rest[:4], "/"))
		}
	}
	return id, whole
}

// parentOf returns the parent of a child resource, "" for other resources.
func parentOf(id string) string {
	scope, namespace, rest := split(id)
	if len(rest) >= 4 {
		return scope + "/providers/" + namespace + "/" + strings.Join(rest[:len(rest)-2], "/")
	}
	if namespace != "" && strings.Contains(strings.ToLower(scope), "/providers/") {
		return scope
	}
	return ""
}

// groupOf returns the resource group's ID in a path.
func groupOf(path string) string {
	segments := strings.Split(path, "/")
	if len(segments) < 5 || !strings.EqualFold(segments[3], "resourceGroups") {
		return ""
	}
	return "/subscriptions/" + segments[2] + "/resourceGroups/" + segments[4]
}

// typeOf returns the lower-case type of a resource.
func typeOf(id string) string {
	_, namespace, rest := split(id)
	if namespace == "" {
		return "microsoft.resources/resourcegroups"
	}
	out := namespace
	for i := 0; i < len(rest); i += 2 {
		out += "/" + rest[i]
	}
	return strings.ToLower(out)
}

// nameOf returns the last segment of an ID.
func nameOf(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }
