package arm

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	typeVault  = "Microsoft.KeyVault/vaults"
	typeSecret = typeVault + "/secrets"
)

// VaultDomain is below what the local key vaults have their names; names below
// localhost lead nowhere but here (RFC 6761).
const VaultDomain = "vault.casement.localhost"

func prepareVault(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	if len(d.id.name()) < 3 || len(d.id.name()) > 24 {
		return badRequest("VaultNameNotValid", "The vault name '%s' is invalid. A vault's name must be between 3-24 alphanumeric characters.", d.id.name())
	}
	if str(p, "tenantId") == "" {
		return badRequest("BadRequest", "The parameter tenantId is not specified.")
	}
	setDefault(ensure(p, "sku"), "family", "A")
	setDefault(sub(p, "sku"), "name", "standard")
	setDefault(p, "accessPolicies", []any{})
	setDefault(p, "enableSoftDelete", true)
	setDefault(p, "softDeleteRetentionInDays", float64(90))
	p["vaultUri"] = "https://" + d.id.name() + "." + VaultDomain + t.s.vaultPort() + "/"
	for _, v := range t.all(typeVault, "") {
		if old == nil && strings.EqualFold(v.id.name(), d.id.name()) {
			return conflict("VaultAlreadyExists", "The vault name '%s' is already in use.", d.id.name())
		}
	}
	return nil
}

// prepareSecret files a secret written through the resource manager, whose value
// that side never returns.
func prepareSecret(t *tx, d, _ *doc) *Error {
	v, ok := props(d.Body)["value"].(string)
	if !ok {
		return badRequest("BadRequest", "properties.value is missing.")
	}
	delete(props(d.Body), "value")
	addVersion(t, d, object{"value": v})
	return nil
}

// addVersion appends a version to a secret.
func addVersion(t *tx, d *doc, body object) object {
	now := float64(t.now.Unix())
	version := object{"version": strings.ReplaceAll(t.s.guid(), "-", ""), "value": body["value"], "created": now, "updated": now, "enabled": true}
	for _, field := range []string{"contentType", "tags"} {
		if body[field] != nil {
			version[field] = clone(body[field])
		}
	}
	for k, v := range sub(body, "attributes") {
		version[k] = v
	}
	versions, _ := d.Hidden["versions"].([]any)
	d.Hidden["versions"] = append(versions, version)
	return version
}

func vaultNameFree(c *call) *Error {
	body, e := c.body()
	if e != nil {
		return e
	}
	free := true
	c.s.read(func(t *tx) {
		free = !slices.ContainsFunc(t.all(typeVault, ""), func(d *doc) bool { return strings.EqualFold(d.id.name(), str(body, "name")) })
	})
	if free {
		c.reply(http.StatusOK, object{"nameAvailable": true})
		return nil
	}
	c.reply(http.StatusOK, object{"nameAvailable": false, "reason": "AlreadyExists", "message": "The vault name '" + str(body, "name") + "' is already in use."})
	return nil
}

// serveVault answers the data plane of a key vault: secrets alone.
func (c *call) serveVault(vault, login string) *Error {
	if e := c.authorizeVault(login); e != nil {
		return e
	}
	if c.query.Get("api-version") == "" {
		return badRequest("BadParameter", "AKV10022: The api-version is missing.")
	}
	segments := strings.Split(strings.Trim(c.r.URL.Path, "/"), "/")
	var d *doc
	c.s.read(func(t *tx) {
		for _, v := range t.all(typeVault, "") {
			if strings.EqualFold(v.id.name(), vault) {
				d = v
			}
		}
	})
	switch {
	case d == nil:
		return refuse(http.StatusNotFound, "VaultNotFound", "The vault %s does not exist.", vault)
	case lower(segments[0]) != "secrets" || len(segments) > 3:
		return errUnsupported("the key vault path " + c.r.URL.Path)
	case len(segments) == 1:
		return c.listSecrets(d)
	}
	c.id = d.id.child("secrets", segments[1])
	if e := c.mayUseSecret(d); e != nil {
		return e
	}
	switch {
	case c.r.Method == http.MethodPut && len(segments) == 2:
		return c.setSecret()
	case c.r.Method == http.MethodGet && len(segments) == 3 && lower(segments[2]) == "versions":
		return c.secretVersions()
	case c.r.Method == http.MethodGet:
		version := ""
		if len(segments) == 3 {
			version = segments[2]
		}
		return c.getSecret(version)
	case c.r.Method == http.MethodDelete && len(segments) == 2:
		return c.deleteSecret()
	}
	return errUnsupported(c.r.Method + " of a secret")
}

// authorizeVault checks the bearer token of a call to a vault's data plane.
func (c *call) authorizeVault(login string) *Error {
	_, domain, _ := strings.Cut(c.host, ".")
	domain, _, _ = strings.Cut(domain, ":")
	audiences := []string{"https://" + domain}
	for _, cloud := range Clouds() {
		audiences = append(audiences, "https://"+cloud.Vault)
	}
	refused := func(format string, args ...any) *Error {
		e := refuse(http.StatusUnauthorized, "Unauthorized", format, args...)
		e.challenge = `Bearer authorization="https://` + c.loginHost(login) + "/" + c.s.cfg.TenantID + `", resource="https://` + domain + `"`
		return e
	}
	raw, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return refused("AKV10000: Request is missing a Bearer or PoP token.")
	}
	claims, err := c.s.bearer(raw, audiences)
	switch {
	case errors.Is(err, errTokenTenant):
		return refused("AKV10032: Invalid issuer. Expected one of %s.", issuer(c.s.cfg.TenantID))
	case errors.Is(err, errTokenAudience):
		return refused("AKV10022: Invalid audience. Expected one of %s, found: %s.", strings.Join(audiences, ", "), strings.Join(claims.Audience, ", "))
	case err != nil:
		return refused("Error validating token: it has expired, or another key signed it.")
	}
	c.principal = claims.Subject
	return nil
}

// bundle is a secret's version as the data plane shows it.
func (c *call) bundle(name string, v object, secret bool) object {
	out := object{"id": "https://" + c.host + "/secrets/" + name + "/" + str(v, "version"), "attributes": object{"recoveryLevel": "Recoverable+Purgeable"}}
	for _, k := range []string{"enabled", "created", "updated", "exp", "nbf"} {
		if v[k] != nil {
			sub(out, "attributes")[k] = v[k]
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

func (c *call) setSecret() *Error {
	body, e := c.body()
	if e != nil {
		return e
	}
	if _, ok := body["value"].(string); !ok {
		return badRequest("BadParameter", "The request body must have a text under 'value'.")
	}
	var out object
	err := c.s.update(func(t *tx) error {
		d := t.edit(c.id.key())
		if d == nil {
			d = &doc{ID: c.id.String(), Type: typeSecret, id: c.id, Hidden: object{}, Body: object{"properties": object{"provisioningState": statusSucceeded}}}
		}
		out = c.bundle(d.id.name(), addVersion(t, d, body), true)
		t.put(d)
		return nil
	})
	if e := asError(err); e != nil {
		return e
	}
	c.reply(http.StatusOK, out)
	return nil
}

// versions of the secret that the call is about.
func (c *call) versions() (out []object) {
	c.s.read(func(t *tx) {
		if d := t.find(c.id.key()); d != nil {
			out = items(d.Hidden, "versions")
		}
	})
	return out
}

func (c *call) errSecretNotFound() *Error {
	return refuse(http.StatusNotFound, "SecretNotFound", "A secret with (name/id) %s was not found in this key vault. If you recently deleted this secret you may be able to recover it using the correct recovery command.", c.id.name())
}

func (c *call) getSecret(version string) *Error {
	list := c.versions()
	for _, v := range slices.Backward(list) {
		if version == "" || strings.EqualFold(str(v, "version"), version) {
			c.reply(http.StatusOK, c.bundle(c.id.name(), v, true))
			return nil
		}
	}
	return c.errSecretNotFound()
}

func (c *call) secretVersions() *Error {
	out := []any{}
	for _, v := range c.versions() {
		out = append(out, c.bundle(c.id.name(), v, false))
	}
	c.reply(http.StatusOK, object{"value": out, "nextLink": nil})
	return nil
}

func (c *call) listSecrets(vault *doc) *Error {
	out := []any{}
	c.s.read(func(t *tx) {
		for _, d := range t.all(typeSecret, vault.ID) {
			if list := items(d.Hidden, "versions"); len(list) > 0 {
				b := c.bundle(d.id.name(), list[len(list)-1], false)
				b["id"] = "https://" + c.host + "/secrets/" + d.id.name()
				out = append(out, b)
			}
		}
	})
	c.reply(http.StatusOK, object{"value": out, "nextLink": nil})
	return nil
}

// deleteSecret deletes a secret for good; soft delete is not modelled.
func (c *call) deleteSecret() *Error {
	list := c.versions()
	if len(list) == 0 {
		return c.errSecretNotFound()
	}
	if e := asError(c.s.update(func(t *tx) error { t.drop(c.id.key()); return nil })); e != nil {
		return e
	}
	out := c.bundle(c.id.name(), list[len(list)-1], false)
	now := c.s.clock.Now()
	out["recoveryId"], out["deletedDate"], out["scheduledPurgeDate"] = "https://"+c.host+"/deletedsecrets/"+c.id.name(), now.Unix(), now.Add(90*24*time.Hour).Unix()
	c.reply(http.StatusOK, out)
	return nil
}

// vaultOf takes the host of a key vault's data plane apart: the vault's name, and
// the host that issues tokens for it, "" for the local Azure's own.
func vaultOf(host string) (name, login string, ok bool) {
	host, _, _ = strings.Cut(lower(host), ":")
	for _, c := range append(Clouds(), Cloud{Vault: VaultDomain, Logins: []string{""}}) {
		if name, ok := strings.CutSuffix(host, "."+c.Vault); ok && name != "" && !strings.Contains(name, ".") {
			return name, c.Logins[0], true
		}
	}
	return "", "", false
}
