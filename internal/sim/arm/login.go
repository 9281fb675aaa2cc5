package arm

import (
	"net/http"
	"strings"
)

// serveLogin answers the token service and discovery; it returns false for a
// path that is ARM's. The URLs it gives out have the host that was asked: MSAL
// refuses an issuer of another one.
func serveLogin(c *call) bool {
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
		serveManagedIdentity(c)
	case strings.HasSuffix(path, "/token") && strings.Contains(path, "/oauth2/"):
		c.serveToken()
	case path == "/metadata/endpoints":
		c.serveEndpoints(base)
	default:
		return false
	}
	return true
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
