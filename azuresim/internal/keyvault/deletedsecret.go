package keyvault

import (
	"net/http"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// typeDeletedSecret is the type of secrets that were deleted and can be recovered. Their documents
// have the secret's ID with this type and contain its versions in hidden form.
const typeDeletedSecret = typeVault + "/deletedSecrets"

// deletedSecretType returns the resource type of deleted secrets, which only the data plane shows.
func deletedSecretType() engine.Type {
	return engine.Type{Name: typeDeletedSecret, Sync: true, Stateless: true, Global: true, Untracked: true, Remains: true, Internal: true}
}

// deletedSecret returns the deleted secret that had an ID; nil if there is none or its retention
// has ended.
func deletedSecret(t *engine.Tx, secret engine.ID) *engine.Doc {
	vault, _ := secret.Parent()
	if d := t.Find(vault.Child("deletedSecrets", secret.Name()).Key()); d != nil && kept(t, d) {
		return d
	}
	return nil
}

// recoverable refuses a new secret with the name of a deleted one.
func recoverable(t *engine.Tx, secret engine.ID) *engine.Error {
	if deletedSecret(t, secret) == nil {
		return nil
	}
	return engine.Conflict("Conflict", "Secret %s is currently in a deleted but recoverable state, and its name cannot be reused; "+
		"in this state, the secret can only be recovered or purged.", secret.Name())
}

// deleteSecret deletes a secret. The vault keeps the deleted secret for the days of its retention.
// Source: https://learn.microsoft.com/azure/key-vault/general/soft-delete-overview.
func deleteSecret(c *engine.Request) *engine.Error {
	var out value.Object
	err := c.Server.Update(func(t *engine.Tx) error {
		vaultID, _ := c.ID.Parent()
		d, vault := t.Find(c.ID.Key()), t.Find(vaultID.Key())
		if d == nil || vault == nil || len(value.Items(d.Hidden, "versions")) == 0 {
			return errSecretNotFound(c)
		}
		days, ok := value.Int(value.Sub(vault.Body, "properties"), "softDeleteRetentionInDays")
		if !ok {
			days = retention
		}
		id := vaultID.Child("deletedSecrets", d.Parsed.Name())
		gone := &engine.Doc{ID: id.String(), Type: typeDeletedSecret, Parsed: id, Hidden: value.CloneObject(d.Hidden),
			Body: value.Object{"properties": value.Object{
				"deletedDate": t.Now.Format(time.RFC3339), "scheduledPurgeDate": t.Now.AddDate(0, 0, days).Format(time.RFC3339)}}}
		out = deletedBundle(c, gone)
		t.Put(gone)
		t.Drop(d.Key())
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return e
	}
	c.Reply(http.StatusOK, out)
	return nil
}

// deletedBundle returns a deleted secret in the form of the data plane.
func deletedBundle(c *engine.Request, d *engine.Doc) value.Object {
	list := value.Items(d.Hidden, "versions")
	out := bundle(c, d.Parsed.Name(), list[len(list)-1], false)
	out["recoveryId"] = "https://" + c.Host + "/deletedsecrets/" + d.Parsed.Name()
	for _, field := range []string{"deletedDate", "scheduledPurgeDate"} {
		if at, err := time.Parse(time.RFC3339, value.Str(d.Body, "properties", field)); err == nil {
			out[field] = at.Unix()
		}
	}
	return out
}

// serveDeletedSecret answers requests to one deleted secret: it shows, recovers or purges the
// secret.
func serveDeletedSecret(c *engine.Request, vault *engine.Doc, action string) *engine.Error {
	status, body := http.StatusOK, value.Object(nil)
	err := c.Server.Update(func(t *engine.Tx) error {
		d := deletedSecret(t, c.ID)
		switch {
		case d == nil:
			return engine.Refuse(http.StatusNotFound, "SecretNotFound", "Deleted Secret not found: %s", c.ID.Name())
		case c.HTTP.Method == http.MethodGet && action == "":
			body = deletedBundle(c, d)
		case c.HTTP.Method == http.MethodPost && action == "recover":
			t.Put(&engine.Doc{ID: c.ID.String(), Type: typeSecret, Parsed: c.ID, Hidden: value.CloneObject(d.Hidden),
				Body: value.Object{"properties": value.Object{"provisioningState": engine.StatusSucceeded}}})
			list := value.Items(d.Hidden, "versions")
			body = bundle(c, c.ID.Name(), list[len(list)-1], false)
			t.Drop(d.Key())
		case c.HTTP.Method == http.MethodDelete && action == "" && value.Bool(vault.Body, "properties", "enablePurgeProtection"):
			return engine.Refuse(http.StatusForbidden, "Forbidden", "Operation \"purge\" is not allowed because purge protection is "+
				"enabled for this vault. Key Vault service will automatically purge it after the retention period has passed.")
		case c.HTTP.Method == http.MethodDelete && action == "":
			status = http.StatusNoContent
			t.Drop(d.Key())
		default:
			return engine.ErrUnsupported(c.HTTP.Method + " " + action + " of a deleted secret")
		}
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return e
	}
	if status == http.StatusNoContent {
		c.Reply(status, nil)
		return nil
	}
	c.Reply(status, body)
	return nil
}

// listDeletedSecrets answers the deleted secrets of a vault.
func listDeletedSecrets(c *engine.Request, vault *engine.Doc) *engine.Error {
	out := []any{}
	c.Server.Read(func(t *engine.Tx) {
		for _, d := range t.All(typeDeletedSecret, vault.ID) {
			if kept(t, d) {
				out = append(out, deletedBundle(c, d))
			}
		}
	})
	c.Reply(http.StatusOK, value.Object{"value": out, "nextLink": nil})
	return nil
}
