package authorization

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
)

func refused(c *engine.Request) *engine.Error {
	if e := forbidden(c); e != nil {
		return e
	}
	return locked(c)
}

// forbidden refuses a request of a managed identity that its roles do not allow, however the
// identity logged in. All other clients are applications that the local Azure knows, which may do
// everything.
func forbidden(c *engine.Request) *engine.Error {
	if c.Identity == "" {
		return nil
	}
	operation, at := operationOf(c.HTTP.Method, c.ID), c.ID
	if strings.EqualFold(c.ID.FullType(), "Microsoft.Resources/deployments/whatIf") {
		at = engine.ID{Subscription: c.ID.Subscription} // it reads every resource that its template names
	}
	if !may(c, operation, at) {
		return engine.Refuse(http.StatusForbidden, "AuthorizationFailed", "The client '%s' with object id '%s' does not have authorization "+
			"to perform action '%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.",
			c.Principal, c.Principal, operation, c.ID)
	}
	linked, e := linkedTo(c)
	if e != nil {
		return e
	}
	for _, id := range linked {
		if other := joining(id); !may(c, other, id) {
			return engine.Refuse(http.StatusForbidden, "LinkedAuthorizationFailed", "The client '%s' with object id '%s' has permission "+
				"to perform action '%s' on scope '%s'; however, it does not have permission to perform action(s) '%s' on the linked "+
				"scope(s) '%s' (respectively) or the linked scope(s) are invalid.", c.Principal, c.Principal, operation, c.ID, other, id)
		}
	}
	return nil
}

// may reports whether the roles of the caller permit an operation at a scope.
func may(c *engine.Request, operation string, at engine.ID) (yes bool) {
	c.Server.Read(func(t *engine.Tx) {
		yes = slices.ContainsFunc(t.Roles(c.Principal, at), func(role string) bool { return permits(t, role, operation) })
	})
	return yes
}

// linkedTo returns the other resources that the body of a write names. It returns none for a
// template, because the deployment itself writes with the roles of its sender, and none for a role
// assignment, because only owners write those.
func linkedTo(c *engine.Request) ([]engine.ID, *engine.Error) {
	method, space := c.HTTP.Method, strings.ToLower(c.ID.Namespace)
	if method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete ||
		space == "microsoft.resources" || space == "microsoft.authorization" {
		return nil, nil
	}
	data, e := engine.BodyText(c)
	if e != nil {
		return nil, e
	}
	c.HTTP.Body = io.NopCloser(bytes.NewReader(data))
	var body any
	if json.Unmarshal(data, &body) != nil {
		return nil, nil // the handler of the request returns the error
	}
	found := map[string]engine.ID{}
	own := c.ID.Key()
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			id, err := engine.ParseID(v)
			if key := id.Key(); err == nil && id.Subscription != "" && id.Namespace != "" && key != own && !strings.HasPrefix(key, own+"/") {
				found[key] = id
			}
		case []any:
			for _, one := range v {
				collect(one)
			}
		case map[string]any:
			for name, one := range v {
				collect(name) // the IDs of identities are keys
				collect(one)
			}
		}
	}
	collect(body)
	keys := slices.Sorted(maps.Keys(found))
	out := make([]engine.ID, len(keys))
	for i, key := range keys {
		out[i] = found[key]
	}
	return out, nil
}

// joining returns the operation that a caller needs on a resource to refer to it in another
// resource. Source:
// https://learn.microsoft.com/azure/role-based-access-control/resource-provider-operations, the
// rows of join, assign and beginGetAccess.
func joining(id engine.ID) string {
	kind := id.FullType()
	switch space := strings.ToLower(id.Namespace); {
	case strings.EqualFold(kind, "Microsoft.ManagedIdentity/userAssignedIdentities"):
		return kind + "/assign/action"
	case space == "microsoft.network":
		return kind + "/join/action"
	case strings.EqualFold(kind, "Microsoft.Compute/disks"), strings.EqualFold(kind, "Microsoft.Compute/snapshots"):
		return kind + "/beginGetAccess/action"
	}
	return kind + "/read"
}

// operationOf returns the name that roles use for the operation of a request.
func operationOf(method string, id engine.ID) string {
	kind := id.FullType()
	if strings.EqualFold(kind, engine.TypeGroup) || strings.EqualFold(kind, "resourceGroups") {
		kind = "Microsoft.Resources/subscriptions/resourceGroups"
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		return kind + "/read"
	case http.MethodDelete:
		return kind + "/delete"
	case http.MethodPost:
		return kind + "/action"
	}
	return kind + "/write"
}
