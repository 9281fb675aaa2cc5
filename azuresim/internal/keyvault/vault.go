package keyvault

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const (
	typeVault  = "Microsoft.KeyVault/vaults"
	typeSecret = typeVault + "/secrets"
)

// VaultDomain is below what the local key vaults have their names; names below
// localhost lead nowhere but here (RFC 6761).
const VaultDomain = "vault.casement.localhost"

func prepareVault(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if len(d.Parsed.Name()) < 3 || len(d.Parsed.Name()) > 24 {
		return engine.BadRequest("VaultNameNotValid", "The vault name '%s' is invalid. A vault's name must be between 3-24 alphanumeric characters.", d.Parsed.Name())
	}
	if value.Str(p, "tenantId") == "" {
		return engine.BadRequest("BadRequest", "The parameter tenantId is not specified.")
	}
	value.SetDefault(value.Ensure(p, "sku"), "family", "A")
	value.SetDefault(value.Sub(p, "sku"), "name", "standard")
	value.SetDefault(p, "accessPolicies", []any{})
	value.SetDefault(p, "enableSoftDelete", true)
	value.SetDefault(p, "softDeleteRetentionInDays", float64(90))
	p["vaultUri"] = "https://" + d.Parsed.Name() + "." + VaultDomain + vaultPort(t.Server) + "/"
	for _, v := range t.All(typeVault, "") {
		if old == nil && strings.EqualFold(v.Parsed.Name(), d.Parsed.Name()) {
			return engine.Conflict("VaultAlreadyExists", "The vault name '%s' is already in use.", d.Parsed.Name())
		}
	}
	return nil
}

// prepareSecret files a secret written through the resource manager, whose value
// that side never returns.
func prepareSecret(t *engine.Tx, d, _ *engine.Doc) *engine.Error {
	v, ok := value.Props(d.Body)["value"].(string)
	if !ok {
		return engine.BadRequest("BadRequest", "properties.value is missing.")
	}
	delete(value.Props(d.Body), "value")
	addVersion(t, d, value.Object{"value": v})
	return nil
}

// addVersion appends a version to a secret.
func addVersion(t *engine.Tx, d *engine.Doc, body value.Object) value.Object {
	now := float64(t.Now.Unix())
	version := value.Object{"version": strings.ReplaceAll(t.Server.GUID(), "-", ""), "value": body["value"], "created": now, "updated": now, "enabled": true}
	for _, field := range []string{"contentType", "tags"} {
		if body[field] != nil {
			version[field] = value.Clone(body[field])
		}
	}
	for k, v := range value.Sub(body, "attributes") {
		version[k] = v
	}
	versions, _ := d.Hidden["versions"].([]any)
	d.Hidden["versions"] = append(versions, version)
	return version
}

func vaultNameFree(c *engine.Request) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	free := true
	c.Server.Read(func(t *engine.Tx) {
		free = !slices.ContainsFunc(t.All(typeVault, ""), func(d *engine.Doc) bool { return strings.EqualFold(d.Parsed.Name(), value.Str(body, "name")) })
	})
	if free {
		c.Reply(http.StatusOK, value.Object{"nameAvailable": true})
		return nil
	}
	c.Reply(http.StatusOK, value.Object{"nameAvailable": false, "reason": "AlreadyExists", "message": "The vault name '" + value.Str(body, "name") + "' is already in use."})
	return nil
}

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
	c.Server.Read(func(t *engine.Tx) {
		for _, v := range t.All(typeVault, "") {
			if strings.EqualFold(v.Parsed.Name(), vault) {
				d = v
			}
		}
	})
	switch {
	case d == nil:
		return engine.Refuse(http.StatusNotFound, "VaultNotFound", "The vault %s does not exist.", vault)
	case value.Lower(segments[0]) != "secrets" || len(segments) > 3:
		return engine.ErrUnsupported("the key vault path " + c.HTTP.URL.Path)
	case len(segments) == 1:
		return listSecrets(c, d)
	}
	c.Id = d.Parsed.Child("secrets", segments[1])
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
		e.Challenge = `Bearer authorization="https://` + c.LoginHost(login) + "/" + c.Server.Options.TenantID + `", resource="https://` + domain + `"`
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
		return refused("AKV10022: Invalid audience. Expected one of %s, found: %s.", strings.Join(audiences, ", "), strings.Join(claims.Audience, ", "))
	case err != nil:
		return refused("Error validating token: it has expired, or another key signed it.")
	}
	c.Principal = claims.Subject
	return nil
}

// bundle is a secret's version as the data plane shows it.
func bundle(c *engine.Request, name string, v value.Object, secret bool) value.Object {
	out := value.Object{"id": "https://" + c.Host + "/secrets/" + name + "/" + value.Str(v, "version"), "attributes": value.Object{"recoveryLevel": "Recoverable+Purgeable"}}
	for _, k := range []string{"enabled", "created", "updated", "exp", "nbf"} {
		if v[k] != nil {
			value.Sub(out, "attributes")[k] = v[k]
		}
	}
	for _, k := range []string{"contentType", "tags"} {
		if v[k] != nil {
			out[k] = v[k]
		}
	}
	if secret {
		out["value"] = v["value"]
	}
	return out
}

func setSecret(c *engine.Request) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	if _, ok := body["value"].(string); !ok {
		return engine.BadRequest("BadParameter", "The request body must have a text under 'value'.")
	}
	var out value.Object
	err := c.Server.Update(func(t *engine.Tx) error {
		d := t.Edit(c.Id.Key())
		if d == nil {
			d = &engine.Doc{ID: c.Id.String(), Type: typeSecret, Parsed: c.Id, Hidden: value.Object{}, Body: value.Object{"properties": value.Object{"provisioningState": engine.StatusSucceeded}}}
		}
		out = bundle(c, d.Parsed.Name(), addVersion(t, d, body), true)
		t.Put(d)
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return e
	}
	c.Reply(http.StatusOK, out)
	return nil
}

// versions of the secret that the call is about.
func versions(c *engine.Request) (out []value.Object) {
	c.Server.Read(func(t *engine.Tx) {
		if d := t.Find(c.Id.Key()); d != nil {
			out = value.Items(d.Hidden, "versions")
		}
	})
	return out
}

func errSecretNotFound(c *engine.Request) *engine.Error {
	return engine.Refuse(http.StatusNotFound, "SecretNotFound", "A secret with (name/id) %s was not found in this key vault. If you recently deleted this secret you may be able to recover it using the correct recovery command.", c.Id.Name())
}

func getSecret(c *engine.Request, version string) *engine.Error {
	list := versions(c)
	for _, v := range slices.Backward(list) {
		if version == "" || strings.EqualFold(value.Str(v, "version"), version) {
			c.Reply(http.StatusOK, bundle(c, c.Id.Name(), v, true))
			return nil
		}
	}
	return errSecretNotFound(c)
}

func secretVersions(c *engine.Request) *engine.Error {
	out := []any{}
	for _, v := range versions(c) {
		out = append(out, bundle(c, c.Id.Name(), v, false))
	}
	c.Reply(http.StatusOK, value.Object{"value": out, "nextLink": nil})
	return nil
}

func listSecrets(c *engine.Request, vault *engine.Doc) *engine.Error {
	out := []any{}
	c.Server.Read(func(t *engine.Tx) {
		for _, d := range t.All(typeSecret, vault.ID) {
			if list := value.Items(d.Hidden, "versions"); len(list) > 0 {
				b := bundle(c, d.Parsed.Name(), list[len(list)-1], false)
				b["id"] = "https://" + c.Host + "/secrets/" + d.Parsed.Name()
				out = append(out, b)
			}
		}
	})
	c.Reply(http.StatusOK, value.Object{"value": out, "nextLink": nil})
	return nil
}

// deleteSecret deletes a secret for good; soft delete is not modelled.
func deleteSecret(c *engine.Request) *engine.Error {
	list := versions(c)
	if len(list) == 0 {
		return errSecretNotFound(c)
	}
	if e := engine.AsError(c.Server.Update(func(t *engine.Tx) error { t.Drop(c.Id.Key()); return nil })); e != nil {
		return e
	}
	out := bundle(c, c.Id.Name(), list[len(list)-1], false)
	now := c.Server.Clock.Now()
	out["recoveryId"], out["deletedDate"], out["scheduledPurgeDate"] = "https://"+c.Host+"/deletedsecrets/"+c.Id.Name(), now.Unix(), now.Add(90*24*time.Hour).Unix()
	c.Reply(http.StatusOK, out)
	return nil
}

// vaultOf takes the host of a key vault's data plane apart: the vault's name, and
// the host that issues tokens for it, "" for the local Azure's own.
func vaultOf(host string) (name, login string, ok bool) {
	host, _, _ = strings.Cut(value.Lower(host), ":")
	for _, c := range append(engine.Clouds(), engine.Cloud{Vault: VaultDomain, Logins: []string{""}}) {
		if name, ok := strings.CutSuffix(host, "."+c.Vault); ok && name != "" && !strings.Contains(name, ".") {
			return name, c.Logins[0], true
		}
	}
	return "", "", false
}
