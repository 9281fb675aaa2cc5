package authorization

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
)

func refused(c *engine.Request) *engine.Error {
	if e := forbidden(c); e != nil {
		return e
	}
	return locked(c)
}

// forbidden refuses what the roles of a machine's identity do not allow: what runs in a machine is none of the clients that
// the local Azure knows, which may do everything.
func forbidden(c *engine.Request) *engine.Error {
	if !c.Machine {
		return nil
	}
	operation, at := operationOf(c.HTTP.Method, c.ID), c.ID
	if strings.EqualFold(c.ID.FullType(), "Microsoft.Resources/deployments") {
		at = engine.ID{Subscription: c.ID.Subscription} // a deployment writes wherever its template says
	}
	may := false
	c.Server.Read(func(t *engine.Tx) {
		for _, role := range t.Roles(c.Principal, at) {
			may = may || permits(t, role, operation)
		}
	})
	if may {
		return nil
	}
	return engine.Refuse(http.StatusForbidden, "AuthorizationFailed", "The client '%s' with object id '%s' does not have authorization "+
		"to perform action '%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.",
		c.Principal, c.Principal, operation, c.ID)
}

// operationOf names what a request does as roles do.
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
