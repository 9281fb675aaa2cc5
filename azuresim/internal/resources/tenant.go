package resources

import (
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// answerTenant answers paths that do not begin with a subscription.
func answerTenant(c *engine.Request) (bool, *engine.Error) {
	switch path := value.Lower(c.HTTP.URL.Path); {
	case c.HTTP.Method == http.MethodGet && path == "/subscriptions":
		subscriptions := []any{}
		for _, id := range c.Server.Options.Subscriptions {
			subscriptions = append(subscriptions, subscription(c.Server, id))
		}
		c.Reply(http.StatusOK, value.Object{"value": subscriptions})
	case c.HTTP.Method == http.MethodGet && path == "/tenants":
		c.Reply(http.StatusOK, value.Object{"value": []any{
			value.Object{"id": "/tenants/" + c.Server.Options.TenantID, "tenantId": c.Server.Options.TenantID},
		}})
	case c.HTTP.Method == http.MethodPost && path == "/providers/microsoft.resources/checkresourcename":
		return true, checkResourceName(c)
	case strings.HasPrefix(path, "/providers/microsoft.resources/deployments/"):
		return true, refuseTenant(c)
	default:
		return false, nil
	}
	return true, nil
}

// refuseTenant refuses a deployment to the tenant itself. No caller of the local Azure has a role
// there: the owner of a subscription has one only after an administrator elevates the owner's
// access. Source:
// https://learn.microsoft.com/azure/role-based-access-control/elevate-access-global-admin;
// recordings of the SDK.
func refuseTenant(c *engine.Request) *engine.Error {
	verb := map[string]string{http.MethodGet: "read", http.MethodHead: "read", http.MethodDelete: "delete",
		http.MethodPost: "action"}
	return engine.Refuse(http.StatusForbidden, "AuthorizationFailed", "The client '%s' with object id '%s' does not have authorization "+
		"to perform action '%s/%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.",
		c.Principal, c.Principal, c.ID.FullType(), value.OrDefault(verb[c.HTTP.Method], "write"), c.ID)
}

// reservedWords are words that the name of a resource with an endpoint cannot contain. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-reserved-resource-name.
var reservedWords = []string{"login", "microsoft", "windows", "xbox"}

// checkResourceName answers whether a name contains a reserved word. Source:
// https://learn.microsoft.com/rest/api/resources/check-resource-name.
func checkResourceName(c *engine.Request) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	name, typ := value.Str(body, "name"), value.Str(body, "type")
	if name == "" || typ == "" {
		return engine.BadRequest("InvalidRequestContent", "The request needs the properties name and type.")
	}
	status := "Allowed"
	if slices.ContainsFunc(reservedWords, func(w string) bool { return strings.Contains(value.Lower(name), w) }) {
		status = "Reserved"
	}
	c.Reply(http.StatusOK, value.Object{"name": name, "type": typ, "status": status})
	return nil
}

func subscription(s *engine.Server, id string) value.Object {
	return value.Object{"id": "/subscriptions/" + id, "subscriptionId": id, "tenantId": s.Options.TenantID,
		"displayName": "casement (simulated)", "state": "Enabled", "authorizationSource": "RoleBased", "managedByTenants": []any{},
		"subscriptionPolicies": value.Object{"locationPlacementId": "Public_2014-09-01", "quotaId": "PayAsYouGo_2014-09-01",
			"spendingLimit": "Off"}}
}
