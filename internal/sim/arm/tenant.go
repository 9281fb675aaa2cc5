package arm

import "net/http"

// serveTenant answers what is above subscriptions.
func (c *call) serveTenant() *Error {
	subscriptions := []any{}
	for _, id := range c.s.cfg.Subscriptions {
		subscriptions = append(subscriptions, c.s.subscription(id))
	}
	switch {
	case c.r.Method == http.MethodGet && lower(c.r.URL.Path) == "/subscriptions":
		c.reply(http.StatusOK, object{"value": subscriptions})
	case c.r.Method == http.MethodGet && lower(c.r.URL.Path) == "/tenants":
		c.reply(http.StatusOK, object{"value": []any{object{"id": "/tenants/" + c.s.cfg.TenantID, "tenantId": c.s.cfg.TenantID}}})
	default:
		return refuse(http.StatusNotFound, "MissingSubscription", "The request did not have a subscription or a valid tenant level resource provider.")
	}
	return nil
}

func (s *Server) subscription(id string) object {
	return object{"id": "/subscriptions/" + id, "subscriptionId": id, "tenantId": s.cfg.TenantID, "displayName": "casement (simulated)", "state": "Enabled"}
}
