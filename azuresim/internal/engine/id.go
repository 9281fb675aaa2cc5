package engine

import (
	"fmt"
	"net/url"
	"strings"

	"casement.dev/casement/azuresim/internal/value"
)

// TypeGroup is the only resource type that paths name without a provider.
const TypeGroup = "Microsoft.Resources/resourceGroups"

// Region returns a location in the form in which ARM stores it: "West Europe" becomes westeurope.
func Region(name string) string { return value.Lower(strings.ReplaceAll(name, " ", "")) }

// ID is a parsed ARM path: of a resource, a collection or an action. For a resource, Types and
// Names have the same length; a collection or an action has one Type more. A path with no Namespace
// belongs to ARM itself: the subscription, the resource group, or a list below one of them.
// azcore's ParseResourceID cannot replace it: it refuses collections, actions and escaped segments.
// It also allocates a chain of parents for each ID, and every request and every record has an ID.
type ID struct {
	// Scope is the resource that an extension resource belongs to; nil for all other resources.
	Scope               *ID
	Subscription, Group string
	Namespace           string
	Types, Names        []string
}

// ParseID parses the escaped path of a request or the text of a resource ID. Paths with an empty
// segment are an error.
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

// takePairs consumes pairs of type and name up to the next segment "providers".
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

// extensionNamespace reports whether resources of a namespace can belong to any scope, so that
// /subscriptions/S/providers/Ns/... is a resource of the subscription.
func extensionNamespace(ns string) bool {
	return value.Lower(ns) == "microsoft.authorization"
}

// String returns the ID's text, with the fixed segments in ARM's casing.
func (id ID) String() string {
	var b strings.Builder
	if id.Scope != nil {
		b.WriteString(id.Scope.String())
	} else {
		if id.Subscription != "" {
			b.WriteString("/subscriptions/" + id.Subscription)
		}
		if id.Group != "" {
			b.WriteString("/resourceGroups/" + id.Group)
		}
	}
	if id.Namespace != "" {
		b.WriteString("/providers/" + id.Namespace)
	}
	for i, t := range id.Types {
		b.WriteString("/" + t)
		if i < len(id.Names) {
			b.WriteString("/" + id.Names[i])
		}
	}
	return b.String()
}

// Escaped returns the ID as the escaped path of a URL.
func (id ID) Escaped() string {
	segments := strings.Split(id.String(), "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// Key returns the key of the resource in the store.
func (id ID) Key() string { return value.Lower(id.String()) }

// FullType returns "Namespace/type/childType" as the path spells it.
func (id ID) FullType() string {
	if id.Namespace == "" {
		if len(id.Types) == 0 && id.Group != "" {
			return TypeGroup
		}
		return strings.Join(id.Types, "/")
	}
	if len(id.Types) == 0 {
		return id.Namespace
	}
	return id.Namespace + "/" + strings.Join(id.Types, "/")
}

// ChildType returns the type without its namespace.
func (id ID) ChildType() string { return strings.Join(id.Types, "/") }

func (id ID) Name() string {
	if len(id.Names) == 0 {
		return id.Group
	}
	return id.Names[len(id.Names)-1]
}

func (id ID) IsResource() bool {
	return len(id.Types) == len(id.Names) && (len(id.Types) > 0 || (id.Group != "" && id.Namespace == ""))
}

// Tail returns the type of a collection or the name of an action.
func (id ID) Tail() string {
	if len(id.Types) == len(id.Names) {
		return ""
	}
	return id.Types[len(id.Types)-1]
}

// Parent returns the resource one level up; ok is false if there is none.
func (id ID) Parent() (ID, bool) {
	n := min(len(id.Names), len(id.Types))
	if len(id.Types) > len(id.Names) {
		id.Types = id.Types[:n]
		return id, n > 0
	}
	if n < 2 {
		return ID{}, false
	}
	id.Types, id.Names = id.Types[:n-1], id.Names[:n-1]
	return id, true
}

// Child returns the ID of a child of the resource, or of a part of its document.
func (id ID) Child(typ, name string) ID {
	id.Types = append(append([]string(nil), id.Types...), typ)
	id.Names = append(append([]string(nil), id.Names...), name)
	return id
}

// TypeManagementGroup is the type of management groups, which group subscriptions and are above
// them.
const TypeManagementGroup = "Microsoft.Management/managementGroups"

// management returns the management group that an ID names or to which the named resource belongs;
// ok is false if there is none.
func (id ID) management() (group ID, ok bool) {
	if id.Scope != nil {
		id = *id.Scope
	}
	return id, strings.EqualFold(id.FullType(), TypeManagementGroup) && id.Subscription == ""
}

// GroupID returns the ID of the resource's resource group.
func (id ID) GroupID() ID {
	return ID{Subscription: id.Subscription, Group: id.Group}
}

// ParentPath returns the ID without its last type.
func (id ID) ParentPath() string {
	p, _ := id.Parent()
	return p.String()
}
