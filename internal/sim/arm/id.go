package arm

import (
	"fmt"
	"net/url"
	"strings"
)

// typeGroup is the one resource type that paths name without a provider.
const typeGroup = "Microsoft.Resources/resourceGroups"

// region is a location as ARM stores it: "West Europe" is westeurope.
func region(name string) string { return lower(strings.ReplaceAll(name, " ", "")) }

// resourceID is an ARM path taken apart: a resource, a collection or an action.
// For a resource Types and Names have the same length; a collection or an
// action has one Type more. A path with no Namespace belongs to ARM itself: the
// subscription, the resource group, or a listing below one of them.
type resourceID struct {
	// Scope is what an extension resource hangs on; nil for all others.
	Scope               *resourceID
	Subscription, Group string
	Namespace           string
	Types, Names        []string
}

// parseID takes the escaped path of a request or the text of a resource ID.
// Every path it accepts has no empty segment.
func parseID(path string) (resourceID, error) {
	var id resourceID
	path = strings.TrimRight(path, "/")
	if !strings.HasPrefix(path, "/") {
		return id, fmt.Errorf("resource ID %q does not begin with a slash", path)
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		u, err := url.PathUnescape(s)
		if err != nil || strings.TrimSpace(u) == "" || strings.ContainsAny(u, "\x00/") {
			return id, fmt.Errorf("resource ID %q has a bad segment %q", path, s)
		}
		segments[i] = u
	}
	return parseSegments(segments), nil
}

func parseSegments(s []string) resourceID {
	var id resourceID
	if len(s) >= 2 && lower(s[0]) == "subscriptions" {
		id.Subscription, s = s[1], s[2:]
		if len(s) >= 2 && lower(s[0]) == "resourcegroups" {
			id.Group, s = s[1], s[2:]
		}
	}
	for len(s) >= 2 && lower(s[0]) == "providers" {
		if id.Namespace != "" {
			scope := id
			id = resourceID{Scope: &scope, Subscription: id.Subscription, Group: id.Group}
		} else if len(id.Types) == 0 && (id.Subscription != "") && extensionNamespace(s[1]) {
			scope := id
			id = resourceID{Scope: &scope, Subscription: id.Subscription, Group: id.Group}
		}
		id.Namespace, s = s[1], s[2:]
		id, s = takePairs(id, s)
	}
	id, _ = takePairs(id, s)
	return id
}

// takePairs consumes type and name segments up to the next "providers" in the
// place of a type.
func takePairs(id resourceID, s []string) (resourceID, []string) {
	for len(s) > 0 {
		if lower(s[0]) == "providers" && len(s) >= 2 && id.Namespace != "" {
			return id, s
		}
		id.Types = append(id.Types, s[0])
		if len(s) == 1 {
			return id, nil
		}
		id.Names = append(id.Names, s[1])
		s = s[2:]
	}
	return id, nil
}

// extensionNamespace says whether resources of a namespace hang on any scope,
// so that /subscriptions/S/providers/Ns/... means "on the subscription".
func extensionNamespace(ns string) bool {
	return lower(ns) == "microsoft.authorization"
}

// String is the ID in ARM's casing of the fixed segments.
func (r resourceID) String() string {
	var b strings.Builder
	if r.Scope != nil {
		b.WriteString(r.Scope.String())
	} else {
		if r.Subscription != "" {
			b.WriteString("/subscriptions/" + r.Subscription)
		}
		if r.Group != "" {
			b.WriteString("/resourceGroups/" + r.Group)
		}
	}
	if r.Namespace != "" {
		b.WriteString("/providers/" + r.Namespace)
	}
	for i, t := range r.Types {
		b.WriteString("/" + t)
		if i < len(r.Names) {
			b.WriteString("/" + r.Names[i])
		}
	}
	return b.String()
}

// escaped is the ID as a URL's path.
func (r resourceID) escaped() string {
	segments := strings.Split(r.String(), "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// key is what the store files a resource under.
func (r resourceID) key() string { return lower(r.String()) }

// fullType is "Namespace/type/childType" as written in the path.
func (r resourceID) fullType() string {
	if r.Namespace == "" {
		if len(r.Types) == 0 && r.Group != "" {
			return typeGroup
		}
		return strings.Join(r.Types, "/")
	}
	if len(r.Types) == 0 {
		return r.Namespace
	}
	return r.Namespace + "/" + strings.Join(r.Types, "/")
}

// childType is the type without its namespace.
func (r resourceID) childType() string { return strings.Join(r.Types, "/") }

func (r resourceID) name() string {
	if len(r.Names) == 0 {
		return r.Group
	}
	return r.Names[len(r.Names)-1]
}

func (r resourceID) isResource() bool {
	return len(r.Types) == len(r.Names) && (len(r.Types) > 0 || (r.Group != "" && r.Namespace == ""))
}

// tail is the collection's type or the action's name.
func (r resourceID) tail() string {
	if len(r.Types) == len(r.Names) {
		return ""
	}
	return r.Types[len(r.Types)-1]
}

// parent is the resource one level up; the second result is false at the top.
func (r resourceID) parent() (resourceID, bool) {
	n := min(len(r.Names), len(r.Types))
	if len(r.Types) > len(r.Names) {
		r.Types = r.Types[:n]
		return r, n > 0
	}
	if n < 2 {
		return resourceID{}, false
	}
	r.Types, r.Names = r.Types[:n-1], r.Names[:n-1]
	return r, true
}

// child is the ID of a part or child of r.
func (r resourceID) child(typ, name string) resourceID {
	r.Types = append(append([]string(nil), r.Types...), typ)
	r.Names = append(append([]string(nil), r.Names...), name)
	return r
}

// group is the ID of the resource group r is in.
func (r resourceID) group() resourceID {
	return resourceID{Subscription: r.Subscription, Group: r.Group}
}

// parentPath is the ID without its last type.
func (r resourceID) parentPath() string {
	p, _ := r.parent()
	return p.String()
}
