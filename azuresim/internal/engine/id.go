package engine

import (
	"fmt"
	"net/url"
	"strings"

	"casement.dev/casement/azuresim/internal/value"
)

// typeGroup is the one resource type that paths name without a provider.
const TypeGroup = "Microsoft.Resources/resourceGroups"

// Region is a location as ARM stores it: "West Europe" is westeurope.
func Region(name string) string { return value.Lower(strings.ReplaceAll(name, " ", "")) }

// ID is an ARM path taken apart: a resource, a collection or an action.
// For a resource Types and Names have the same length; a collection or an
// action has one Type more. A path with no Namespace belongs to ARM itself: the
// subscription, the resource group, or a listing below one of them.
//
// azcore's ParseResourceID is no substitute: it takes no collections, actions and
// escaped segments, and makes a chain of parents for each ID, of which there is one
// in every request and every record read.
type ID struct {
	// Scope is what an extension resource hangs on; nil for all others.
	Scope               *ID
	Subscription, Group string
	Namespace           string
	Types, Names        []string
}

// ParseID takes the escaped path of a request or the text of a resource ID.
// Every path it accepts has no empty segment.
func ParseID(path string) (ID, error) {
	var id ID
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

func parseSegments(s []string) ID {
	var id ID
	if len(s) >= 2 && value.Lower(s[0]) == "subscriptions" {
		id.Subscription, s = s[1], s[2:]
		if len(s) >= 2 && value.Lower(s[0]) == "resourcegroups" {
			id.Group, s = s[1], s[2:]
		}
	}
	for len(s) >= 2 && value.Lower(s[0]) == "providers" {
		if id.Namespace != "" {
			scope := id
			id = ID{Scope: &scope, Subscription: id.Subscription, Group: id.Group}
		} else if len(id.Types) == 0 && (id.Subscription != "") && extensionNamespace(s[1]) {
			scope := id
			id = ID{Scope: &scope, Subscription: id.Subscription, Group: id.Group}
		}
		id.Namespace, s = s[1], s[2:]
		id, s = takePairs(id, s)
	}
	id, _ = takePairs(id, s)
	return id
}

// takePairs consumes type and name segments up to the next "providers" in the
// place of a type.
func takePairs(id ID, s []string) (ID, []string) {
	for len(s) > 0 {
		if value.Lower(s[0]) == "providers" && len(s) >= 2 && id.Namespace != "" {
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
	return value.Lower(ns) == "microsoft.authorization"
}

// String is the ID in ARM's casing of the fixed segments.
func (r ID) String() string {
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

// Escaped is the ID as a URL's path.
func (r ID) Escaped() string {
	segments := strings.Split(r.String(), "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// Key is what the store files a resource under.
func (r ID) Key() string { return value.Lower(r.String()) }

// FullType is "Namespace/type/childType" as written in the path.
func (r ID) FullType() string {
	if r.Namespace == "" {
		if len(r.Types) == 0 && r.Group != "" {
			return TypeGroup
		}
		return strings.Join(r.Types, "/")
	}
	if len(r.Types) == 0 {
		return r.Namespace
	}
	return r.Namespace + "/" + strings.Join(r.Types, "/")
}

// ChildType is the type without its namespace.
func (r ID) ChildType() string { return strings.Join(r.Types, "/") }

func (r ID) Name() string {
	if len(r.Names) == 0 {
		return r.Group
	}
	return r.Names[len(r.Names)-1]
}

func (r ID) IsResource() bool {
	return len(r.Types) == len(r.Names) && (len(r.Types) > 0 || (r.Group != "" && r.Namespace == ""))
}

// Tail is the collection's type or the action's name.
func (r ID) Tail() string {
	if len(r.Types) == len(r.Names) {
		return ""
	}
	return r.Types[len(r.Types)-1]
}

// Parent is the resource one level up; the second result is false at the top.
func (r ID) Parent() (ID, bool) {
	n := min(len(r.Names), len(r.Types))
	if len(r.Types) > len(r.Names) {
		r.Types = r.Types[:n]
		return r, n > 0
	}
	if n < 2 {
		return ID{}, false
	}
	r.Types, r.Names = r.Types[:n-1], r.Names[:n-1]
	return r, true
}

// Child is the ID of a part or child of r.
func (r ID) Child(typ, name string) ID {
	r.Types = append(append([]string(nil), r.Types...), typ)
	r.Names = append(append([]string(nil), r.Names...), name)
	return r
}

// GroupID is the ID of the resource group r is in.
func (r ID) GroupID() ID {
	return ID{Subscription: r.Subscription, Group: r.Group}
}

// ParentPath is the ID without its last type.
func (r ID) ParentPath() string {
	p, _ := r.Parent()
	return p.String()
}
