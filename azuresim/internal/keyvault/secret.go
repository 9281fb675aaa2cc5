package keyvault

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeSecret = typeVault + "/secrets"

// prepareSecret stores a secret that is written through the resource manager, whose answers never
// contain the value.
func prepareSecret(t *engine.Tx, d, _ *engine.Doc) *engine.Error {
	if e := recoverable(t, d.Parsed); e != nil {
		return e
	}
	v, ok := value.Props(d.Body)["value"].(string)
	if !ok {
		return engine.BadRequest("BadRequest", "properties.value is missing.")
	}
	p := value.Props(d.Body)
	delete(p, "value")
	parent, _ := d.Parsed.Parent()
	vault := t.Find(parent.Key())
	version := addVersion(t, d, value.Object{"value": v, "attributes": p["attributes"], "contentType": p["contentType"],
		"tags": d.Body["tags"]})
	attributes := value.Ensure(p, "attributes")
	attributes["created"], attributes["updated"] = version["created"], version["updated"]
	p["secretUri"] = value.Str(vault.Body, "properties", "vaultUri") + "secrets/" + d.Parsed.Name()
	p["secretUriWithVersion"] = value.Str(p, "secretUri") + "/" + value.Str(version, "version")
	d.Body["location"] = vault.Location()
	return nil
}

// addVersion appends a version to a secret.
func addVersion(t *engine.Tx, d *engine.Doc, body value.Object) value.Object {
	now := float64(t.Now.Unix())
	version := value.Object{"version": strings.ReplaceAll(uuid.NewString(), "-", ""), "value": body["value"],
		"created": now, "updated": now, "enabled": true}
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

// bundle returns a secret's version in the form of the data plane, with its value if secret is set.
func bundle(c *engine.Request, name string, v value.Object, secret bool) value.Object {
	out := value.Object{"id": "https://" + c.Host + "/secrets/" + name + "/" + value.Str(v, "version"),
		"attributes": value.Object{"recoveryLevel": "Recoverable+Purgeable"}}
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
		if e := recoverable(t, c.ID); e != nil {
			return e
		}
		d := t.Edit(c.ID.Key())
		if d == nil {
			d = &engine.Doc{ID: c.ID.String(), Type: typeSecret, Parsed: c.ID, Hidden: value.Object{},
				Body: value.Object{"properties": value.Object{"provisioningState": engine.StatusSucceeded}}}
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

// versions returns the versions of the secret in the request's path.
func versions(c *engine.Request) (out []value.Object) {
	c.Server.Read(func(t *engine.Tx) {
		if d := t.Find(c.ID.Key()); d != nil {
			out = value.Items(d.Hidden, "versions")
		}
	})
	return out
}

func errSecretNotFound(c *engine.Request) *engine.Error {
	return engine.Refuse(http.StatusNotFound, "SecretNotFound", "A secret with (name/id) %s was not found in "+
		"this key vault. If you recently deleted this secret you may be able to recover it using the correct "+
		"recovery command.", c.ID.Name())
}

func getSecret(c *engine.Request, version string) *engine.Error {
	list := versions(c)
	for _, v := range slices.Backward(list) {
		if version == "" || strings.EqualFold(value.Str(v, "version"), version) {
			c.Reply(http.StatusOK, bundle(c, c.ID.Name(), v, true))
			return nil
		}
	}
	return errSecretNotFound(c)
}

func secretVersions(c *engine.Request) *engine.Error {
	out := []any{}
	for _, v := range versions(c) {
		out = append(out, bundle(c, c.ID.Name(), v, false))
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
