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
// path that is ARM's. The URLs it gives out have the host that was asked: MSAL
// refuses an issuer of another one.
func (c *call) serveLogin() bool {
	path := lower(slashes.ReplaceAllString(c.r.URL.Path, "/"))
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
			"token_endpoint_auth_methods_supported": []any{"client_secret_post", "private_key_jwt"}, "response_types_supported": []any{"token"},
			"subject_types_supported": []any{"pairwise"}, "id_token_signing_alg_values_supported": []any{"RS256"},
		})
	case strings.HasSuffix(path, "/discovery/instance"):
		c.reply(http.StatusOK, object{
			"tenant_discovery_endpoint": base + "/" + c.s.cfg.TenantID + "/v2.0/.well-known/openid-configuration",
			"api-version":               "1.1", "metadata": authorities(lower(c.host)),
		})
	case strings.HasPrefix(path, "/metadata/identity/"):
		c.serveManagedIdentity()
	case strings.HasSuffix(path, "/token") && strings.Contains(path, "/oauth2/"):
		c.serveToken()
	case path == "/metadata/endpoints":
		c.serveEndpoints(base)
	default:
		return false
	}
	return true
}

// token is a JWT whose signature nobody checks. object is the principal's ID.
func (s *Server) token(client, principal, audience string) string {
	now := s.clock.Now()
	part := func(o object) string {
		data, _ := json.Marshal(o) // an object of strings and numbers always encodes
		return base64.RawURLEncoding.EncodeToString(data)
	}
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails (crypto/rand)
	return part(object{"alg": "none", "typ": "JWT"}) + "." + part(object{
		"aud": audience, "iss": "https://sts.windows.net/" + s.cfg.TenantID + "/", "tid": s.cfg.TenantID, "appid": client, "oid": principal, "sub": principal,
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
	claims, ok := readClaims(raw)
	if !ok {
		return refused("InvalidAuthenticationToken", "The access token is invalid.")
	}
	if c.s.clock.Now().Unix() > claims.Exp {
		return refused("ExpiredAuthenticationToken", "The access token expiry is in the past.")
	}
	if !strings.EqualFold(claims.Tid, c.s.cfg.TenantID) {
		return refused("InvalidAuthenticationTokenTenant", "The access token is from the wrong issuer.")
	}
	c.principal = claims.Sub
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
