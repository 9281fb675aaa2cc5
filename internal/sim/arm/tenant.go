package arm

import (
	"net/http"
	"slices"
	"strings"
)

// answerTenant answers what is above subscriptions.
func answerTenant(c *call) (bool, *Error) {
	switch path := lower(c.r.URL.Path); {
	case c.r.Method == http.MethodGet && path == "/subscriptions":
		subscriptions := []any{}
		for _, id := range c.s.cfg.Subscriptions {
			subscriptions = append(subscriptions, c.s.subscription(id))
		}
		c.reply(http.StatusOK, object{"value": subscriptions})
	case c.r.Method == http.MethodGet && path == "/tenants":
		c.reply(http.StatusOK, object{"value": []any{object{"id": "/tenants/" + c.s.cfg.TenantID, "tenantId": c.s.cfg.TenantID}}})
	case c.r.Method == http.MethodPost && path == "/providers/microsoft.resources/checkresourcename":
		return true, c.checkResourceName()
	default:
		return false, nil
	}
	return true, nil
}

// reservedWords may be no part of a resource's name where the name is reachable.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-reserved-resource-name.
var reservedWords = []string{"login", "microsoft", "windows", "xbox"}

// checkResourceName answers whether a name holds a reserved word.
// Source: https://learn.microsoft.com/rest/api/resources/check-resource-name.
func (c *call) checkResourceName() *Error {
	body, e := c.body()
	if e != nil {
		return e
	}
	name, typ := str(body, "name"), str(body, "type")
	if name == "" || typ == "" {
		return badRequest("InvalidRequestContent", "The request needs the properties name and type.")
	}
	status := "Allowed"
	if slices.ContainsFunc(reservedWords, func(w string) bool { return strings.Contains(lower(name), w) }) {
		status = "Reserved"
	}
	c.reply(http.StatusOK, object{"name": name, "type": typ, "status": status})
	return nil
}

func (s *Server) subscription(id string) object {
	return object{"id": "/subscriptions/" + id, "subscriptionId": id, "tenantId": s.cfg.TenantID, "displayName": "casement (simulated)", "state": "Enabled"}
}
