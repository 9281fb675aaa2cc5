package arm

import (
	"errors"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

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
			"subject_types_supported": []any{"pairwise"}, "id_token_signing_alg_values_supported": []any{"ES256"},
		})
	case strings.HasSuffix(path, "/discovery/instance"):
		c.reply(http.StatusOK, object{
			"tenant_discovery_endpoint": base + "/" + c.s.cfg.TenantID + "/v2.0/.well-known/openid-configuration",
			"api-version":               "1.1", "metadata": authorities(lower(c.host)),
		})
	case strings.HasSuffix(path, "/discovery/v2.0/keys"):
		c.reply(http.StatusOK, object{"keys": []any{c.s.signer.published()}})
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

// authorize checks the bearer token of a call to the resource manager. The texts are
// Azure's.
func (c *call) authorize() *Error {
	refused := func(code, format string, args ...any) *Error {
		e := refuse(http.StatusUnauthorized, code, format, args...)
		e.challenge = `Bearer authorization_uri="https://` + c.host + "/" + c.s.cfg.TenantID + `", error="invalid_token", error_description="` + e.Message + `"`
		return e
	}
	raw, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return refused("AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	audiences := c.managerAudiences()
	claims, err := c.s.bearer(raw, audiences)
	switch {
	case errors.Is(err, errTokenTenant):
		return refused("InvalidAuthenticationTokenTenant", "The access token is from the wrong issuer. It must match the tenant '%s' associated with this subscription.", issuer(c.s.cfg.TenantID))
	case errors.Is(err, jwt.ErrTokenExpired):
		return refused("ExpiredAuthenticationToken", "The access token expiry UTC time is earlier than current UTC time '%s'.", c.s.clock.Now().UTC().Format("1/2/2006 3:04:05 PM"))
	case errors.Is(err, errTokenAudience):
		return refused("InvalidAuthenticationTokenAudience", "The access token has been obtained for wrong audience or resource. It should exactly match with one of the allowed audiences '%s'.", strings.Join(audiences, "','"))
	case err != nil:
		return refused("InvalidAuthenticationToken", "The access token is invalid.")
	}
	c.principal = claims.Subject
	return nil
}

// managerAudiences are what tokens for the resource manager may be for: the name or
// address that was asked, and those of Azure's clouds.
func (c *call) managerAudiences() []string {
	out := []string{"https://" + c.host + "/", "https://" + c.loginHost("") + "/"}
	for _, cloud := range Clouds() {
		out = append(out, "https://"+cloud.Manager+"/", "https://"+cloud.Classic+"/")
	}
	return out
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
