package keyvault

import (
	"errors"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// serveVault answers the data plane of a key vault: secrets alone.
func serveVault(c *engine.Request, vault, login string) *engine.Error {
	if e := authorizeVault(c, login); e != nil {
		return e
	}
	if c.Query.Get("api-version") == "" {
		return engine.BadRequest("BadParameter", "AKV10022: The api-version is missing.")
	}
	segments := strings.Split(strings.Trim(c.HTTP.URL.Path, "/"), "/")
	var d *engine.Doc
	c.Server.Read(func(t *engine.Tx) { d = findVault(t, vault) })
	switch {
	case d == nil:
		return engine.Refuse(http.StatusNotFound, "VaultNotFound", "The vault %s does not exist.", vault)
	case value.Lower(segments[0]) != "secrets" || len(segments) > 3:
		return engine.ErrUnsupported("the key vault path " + c.HTTP.URL.Path)
	case len(segments) == 1:
		c.ID = d.Parsed
		if e := mayUseSecret(c, d); e != nil {
			return e
		}
		return listSecrets(c, d)
	}
	c.ID = d.Parsed.Child("secrets", segments[1])
	if e := mayUseSecret(c, d); e != nil {
		return e
	}
	switch {
	case c.HTTP.Method == http.MethodPut && len(segments) == 2:
		return setSecret(c)
	case c.HTTP.Method == http.MethodGet && len(segments) == 3 && value.Lower(segments[2]) == "versions":
		return secretVersions(c)
	case c.HTTP.Method == http.MethodGet:
		version := ""
		if len(segments) == 3 {
			version = segments[2]
		}
		return getSecret(c, version)
	case c.HTTP.Method == http.MethodDelete && len(segments) == 2:
		return deleteSecret(c)
	}
	return engine.ErrUnsupported(c.HTTP.Method + " of a secret")
}

// authorizeVault checks the bearer token of a call to a vault's data plane.
func authorizeVault(c *engine.Request, login string) *engine.Error {
	_, domain, _ := strings.Cut(c.Host, ".")
	domain, _, _ = strings.Cut(domain, ":")
	audiences := []string{"https://" + domain}
	for _, cloud := range engine.Clouds() {
		audiences = append(audiences, "https://"+cloud.Vault)
	}
	refused := func(format string, args ...any) *engine.Error {
		e := engine.Refuse(http.StatusUnauthorized, "Unauthorized", format, args...)
		e.Challenge = `Bearer authorization="https://` + c.LoginHost(login) + "/" + c.Server.Options.TenantID +
			`", resource="https://` + domain + `"`
		return e
	}
	raw, ok := strings.CutPrefix(c.HTTP.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return refused("AKV10000: Request is missing a Bearer or PoP token.")
	}
	claims, err := c.Server.Bearer(raw, audiences)
	switch {
	case errors.Is(err, engine.ErrTokenTenant):
		return refused("AKV10032: Invalid issuer. Expected one of %s.", engine.Issuer(c.Server.Options.TenantID))
	case errors.Is(err, engine.ErrTokenAudience):
		return refused("AKV10022: Invalid audience. Expected one of %s, found: %s.", strings.Join(audiences, ", "),
			strings.Join(claims.Audience, ", "))
	case err != nil:
		return refused("Error validating token: it has expired, or another key signed it.")
	}
	c.Principal, c.Identity = claims.Subject, claims.Identity
	return nil
}

// vaultOf takes the host of a key vault's data plane apart: the vault's name, and
// the host that issues tokens for it, "" for the local Azure's own.
func vaultOf(host string) (name, login string, ok bool) {
	host, _, _ = strings.Cut(value.Lower(host), ":")
	for _, c := range append(engine.Clouds(), engine.Cloud{Vault: engine.VaultDomain, Logins: []string{""}}) {
		if name, ok := strings.CutSuffix(host, "."+c.Vault); ok && name != "" && !strings.Contains(name, ".") {
			return name, c.Logins[0], true
		}
	}
	return "", "", false
}
