package arm

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// tokenLife is how long an issued token is good.
const tokenLife = time.Hour

// serveLogin answers the token service and discovery; it returns false for a
// path that is ARM's.
func (c *call) serveLogin() bool {
	path := lower(c.r.URL.Path)
	base := "https://" + c.host
	switch {
	case strings.HasSuffix(path, "/.well-known/openid-configuration"):
		authority := base + strings.TrimSuffix(strings.TrimSuffix(c.r.URL.Path, "/.well-known/openid-configuration"), "/v2.0")
		tail := "/oauth2/v2.0"
		if strings.HasSuffix(authority, "/adfs") {
			tail = "/oauth2"
		}
		c.reply(http.StatusOK, object{
			"issuer": authority + "/v2.0", "authorization_endpoint": authority + tail + "/authorize",
			"token_endpoint": authority + tail + "/token", "jwks_uri": authority + "/discovery/v2.0/keys",
		})
	case strings.HasSuffix(path, "/discovery/instance"):
		c.reply(http.StatusOK, object{
			"tenant_discovery_endpoint": base + "/" + c.s.cfg.TenantID + "/v2.0/.well-known/openid-configuration",
			"metadata":                  []any{object{"preferred_network": c.host, "preferred_cache": c.host, "aliases": []any{c.host}}},
		})
	case strings.HasSuffix(path, "/token") && strings.Contains(path, "/oauth2/"):
		c.serveToken()
	case path == "/metadata/endpoints":
		c.serveEndpoints(base)
	default:
		return false
	}
	return true
}

// serveToken issues a token for any client that names a credential. Who may do
// what is not modelled; that a token is there, and for ARM, is.
func (c *call) serveToken() {
	if err := c.r.ParseForm(); err != nil || c.r.PostForm.Get("client_id") == "" {
		c.reply(http.StatusBadRequest, object{"error": "invalid_request", "error_description": "AADSTS900144: The request body must contain the following parameter: 'client_id'.", "error_codes": []any{900144}})
		return
	}
	f := c.r.PostForm
	if f.Get("client_secret") == "" && f.Get("client_assertion") == "" {
		c.reply(http.StatusUnauthorized, object{"error": "invalid_client", "error_description": "AADSTS7000216: 'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.", "error_codes": []any{7000216}})
		return
	}
	audience := f.Get("resource")
	for scope := range strings.FieldsSeq(f.Get("scope")) {
		if a, ok := strings.CutSuffix(scope, "/.default"); ok {
			audience = a
		}
	}
	c.reply(http.StatusOK, object{
		"token_type": "Bearer", "expires_in": int(tokenLife.Seconds()), "ext_expires_in": int(tokenLife.Seconds()),
		"access_token": c.s.token(f.Get("client_id"), audience),
	})
}

// token is a JWT whose signature nobody checks.
func (s *Server) token(client, audience string) string {
	now := s.clock.Now()
	part := func(o object) string {
		data, _ := json.Marshal(o) // an object of strings and numbers always encodes
		return base64.RawURLEncoding.EncodeToString(data)
	}
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails (crypto/rand)
	return part(object{"alg": "none", "typ": "JWT"}) + "." + part(object{
		"aud": audience, "iss": "https://sts.windows.net/" + s.cfg.TenantID + "/", "tid": s.cfg.TenantID, "appid": client, "oid": client, "sub": client,
		"idtyp": "app", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(tokenLife).Unix(), "uti": hex.EncodeToString(nonce[:]),
	}) + "."
}

// authorize checks that there is a bearer token that has not expired.
func (c *call) authorize() *Error {
	refused := func(code, message string) *Error {
		e := refuse(http.StatusUnauthorized, code, "%s", message)
		e.challenge = `Bearer authorization_uri="https://` + c.host + "/" + c.s.cfg.TenantID + `", error="invalid_token", error_description="` + message + `"`
		return e
	}
	raw, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return refused("AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	parts := strings.Split(raw, ".")
	var claims struct {
		Exp int64  `json:"exp"`
		Tid string `json:"tid"`
	}
	if len(parts) != 3 {
		return refused("InvalidAuthenticationToken", "The access token is invalid.")
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return refused("InvalidAuthenticationToken", "The access token is invalid.")
	}
	if c.s.clock.Now().Unix() > claims.Exp {
		return refused("ExpiredAuthenticationToken", "The access token expiry is in the past.")
	}
	if !strings.EqualFold(claims.Tid, c.s.cfg.TenantID) {
		return refused("InvalidAuthenticationTokenTenant", "The access token is from the wrong issuer.")
	}
	return nil
}

// serveEndpoints is the cloud's description, in the forms of three API versions.
func (c *call) serveEndpoints(base string) {
	version := c.query.Get("api-version")
	login := object{"loginEndpoint": base + "/", "audiences": []any{base, "https://management.azure.com/"}, "tenant": "common", "identityProvider": "AAD"}
	switch {
	case version < "2019-05-01":
		c.reply(http.StatusOK, object{"galleryEndpoint": base, "graphEndpoint": base, "portalEndpoint": base, "authentication": login})
	case version < "2022-09-01":
		c.reply(http.StatusOK, []any{object{"name": "casement", "resourceManager": base, "authentication": login, "suffixes": object{}}})
	default:
		c.reply(http.StatusOK, object{"name": "casement", "resourceManager": base, "authentication": login, "suffixes": object{}})
	}
}

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
