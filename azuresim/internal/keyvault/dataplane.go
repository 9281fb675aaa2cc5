package keyvault

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// serveVault answers the data plane of a key vault, which has only secrets here.
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
	case len(segments) > 1 && !entryForm.MatchString(segments[1]):
		return engine.BadRequest("BadParameter", "The request URI contains an invalid name: %s", segments[1])
	case !slices.Contains([]string{"secrets", "deletedsecrets"}, value.Lower(segments[0])) || len(segments) > 3:
		return serveNone(c, d, segments)
	}
	deleted := value.Lower(segments[0]) == "deletedsecrets"
	if c.ID = d.Parsed; len(segments) > 1 {
		c.ID = d.Parsed.Child("secrets", segments[1])
	}
	if e := mayUseSecret(c, d); e != nil {
		return e
	}
	switch {
	case len(segments) == 1 && deleted:
		return listDeletedSecrets(c, d)
	case len(segments) == 1:
		return listSecrets(c, d)
	case deleted:
		return serveDeletedSecret(c, d, value.Lower(strings.Join(segments[2:], "/")))
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

// serveNone answers requests for objects that vaults do not have here: certificates and, unless the
// resource manager created keys in the vault, keys. Requests that create them are refused where
// Azure refuses them; nothing else is emulated.
func serveNone(c *engine.Request, vault *engine.Doc, segments []string) *engine.Error {
	if e := creates(c, segments); e != nil {
		return e
	}
	var keys int
	c.Server.Read(func(t *engine.Tx) { keys = len(t.All(typeKey, vault.ID)) })
	kind, rest := value.Lower(segments[0]), segments[1:]
	code, ok := map[string]string{"certificates": "CertificateNotFound", "deletedcertificates": "CertificateNotFound",
		"keys": "KeyNotFound", "deletedkeys": "KeyNotFound"}[kind]
	if c.HTTP.Method != http.MethodGet || !ok || code == "KeyNotFound" && keys > 0 {
		return engine.ErrUnsupported("the key vault path " + c.HTTP.URL.Path)
	}
	switch {
	case len(rest) == 0:
		c.Reply(http.StatusOK, value.Object{"value": []any{}, "nextLink": nil})
		return nil
	case kind == "certificates" && value.Lower(rest[0]) == "contacts":
		return engine.Refuse(http.StatusNotFound, "ContactsNotFound", "Contacts not found.")
	}
	return engine.Refuse(http.StatusNotFound, code, "%s was not found in this key vault.", strings.Join(rest, "/"))
}

// creates refuses to create a key without a valid type or a certificate without a policy. Source of
// the required members: https://learn.microsoft.com/rest/api/keyvault/keys/create-key and
// .../certificates/create-certificate; the messages are assumptions.
func creates(c *engine.Request, segments []string) *engine.Error {
	kind, last := value.Lower(segments[0]), value.Lower(segments[len(segments)-1])
	if c.HTTP.Method != http.MethodPost || len(segments) != 3 || last != "create" {
		return nil
	}
	body, e := c.Body()
	switch kty := value.Str(body, "kty"); {
	case e != nil:
		return e
	case kind == "keys" && keyOperations[strings.TrimSuffix(kty, "-HSM")] == nil && !strings.HasPrefix(kty, "oct"):
		return engine.BadRequest("BadParameter", "Property kty has invalid value %q.", kty)
	case kind == "certificates" && value.Sub(body, "policy") == nil:
		return engine.BadRequest("BadParameter", "Property policy is missing.")
	}
	return nil
}

// authorizeVault checks the bearer token of a call to a vault's data plane.
func authorizeVault(c *engine.Request, login string) *engine.Error {
	// Clients that read the domain from the cloud's metadata request a token for the domain with
	// its port.
	_, suffix, _ := strings.Cut(c.Host, ".")
	domain, _, _ := strings.Cut(suffix, ":")
	audiences := []string{"https://" + domain, "https://" + suffix}
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

// vaultOf parses the host name of a key vault's data plane. It returns the vault's name and the
// host that issues tokens for it, "" for the local Azure itself.
func vaultOf(host string) (name, login string, ok bool) {
	host, _, _ = strings.Cut(value.Lower(host), ":")
	for _, c := range append(engine.Clouds(), engine.Cloud{Vault: engine.VaultDomain, Logins: []string{""}}) {
		if name, ok := strings.CutSuffix(host, "."+c.Vault); ok && name != "" && !strings.Contains(name, ".") {
			return name, c.Logins[0], true
		}
	}
	return "", "", false
}
