package entra

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// serveLogin answers requests to the token service and discovery; it returns false for ARM's paths.
// The URLs in its answers have the host of the request, because MSAL refuses an issuer with another
// host.
func serveLogin(c *engine.Request) bool {
	path := value.Lower(engine.Slashes.ReplaceAllString(c.HTTP.URL.Path, "/"))
	base := "https://" + c.Host
	switch {
	case strings.HasSuffix(path, "/.well-known/openid-configuration"):
		authority := base + strings.TrimSuffix(strings.TrimSuffix(c.HTTP.URL.Path, "/.well-known/openid-configuration"), "/v2.0")
		tail := "/oauth2/v2.0"
		if strings.HasSuffix(authority, "/adfs") {
			tail = "/oauth2"
		}
		c.Reply(http.StatusOK, value.Object{
			"issuer": authority + "/v2.0", "authorization_endpoint": authority + tail + "/authorize",
			"token_endpoint": authority + tail + "/token", "jwks_uri": authority + "/discovery/v2.0/keys",
			"token_endpoint_auth_methods_supported": []any{
				"client_secret_post", "private_key_jwt",
			}, "response_types_supported": []any{"token"},
			"subject_types_supported": []any{"pairwise"}, "id_token_signing_alg_values_supported": []any{"ES256"},
		})
	case strings.HasSuffix(path, "/discovery/instance"):
		c.Reply(http.StatusOK, value.Object{
			"tenant_discovery_endpoint": base + "/" + c.Server.Options.TenantID + "/v2.0/.well-known/openid-configuration",
			"api-version":               "1.1", "metadata": authorities(value.Lower(c.Host)),
		})
	case strings.HasSuffix(path, "/discovery/v2.0/keys"):
		c.Reply(http.StatusOK, value.Object{"keys": []any{c.Server.Signer.Published()}})
	case strings.HasPrefix(path, "/metadata/identity/"):
		serveManagedIdentity(c)
	case strings.HasSuffix(path, "/token") && strings.Contains(path, "/oauth2/"):
		serveToken(c)
	case path == "/metadata/endpoints":
		serveEndpoints(c, base)
	default:
		return false
	}
	return true
}

// serveEndpoints answers with the metadata of the cloud, in the forms of three API
// versions.
func serveEndpoints(c *engine.Request, base string) {
	version := c.Query.Get("api-version")
	login := value.Object{"loginEndpoint": base + "/", "audiences": []any{base, "https://management.azure.com/"},
		"tenant": "common", "identityProvider": "AAD"}
	suffixes := value.Object{"keyVaultDns": strings.TrimPrefix(engine.VaultSuffix(c.Server), "."), "storage": "core.windows.net"}
	cloud := value.Object{
		"name": "casement", "resourceManager": base, "authentication": login, "suffixes": suffixes,
		"microsoftGraphResourceId": base + "/", "graph": base + "/", "gallery": base + "/", "portal": base + "/",
	}
	switch {
	case version < "2019-05-01":
		c.Reply(http.StatusOK, value.Object{
			"galleryEndpoint": base, "graphEndpoint": base, "portalEndpoint": base, "authentication": login,
		})
	case version < "2022-09-01":
		c.Reply(http.StatusOK, []any{cloud})
	default:
		c.Reply(http.StatusOK, cloud)
	}
}
