package keyvault

import (
	"net/http"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// typeDeleted is the type of vaults that were deleted and can be recovered. Their documents contain
// the vault and its children in hidden form.
const typeDeleted = "Microsoft.KeyVault/locations/deletedVaults"

// deletedType returns the resource type of deleted vaults.
func deletedType() engine.Type {
	return engine.Type{Name: typeDeleted, Style: engine.StyleGroup, Sync: true, Stateless: true, Global: true,
		Untracked: true, Remains: true, Opaque: true, View: viewDeleted, Serve: serveDeleted,
		Actions: []engine.Action{{Name: "purge", Begin: beginPurge, Takes: 5 * time.Second,
			Work: engine.Work{Name: "vault.purge", Finish: finishPurge}}}}
}

// keepDeleted stores the record of a vault that is being deleted, with its secrets and keys.
func keepDeleted(t *engine.Tx, d *engine.Doc) {
	id, err := engine.ParseID("/subscriptions/" + d.Parsed.Subscription +
		"/providers/Microsoft.KeyVault/locations/" + d.Location() + "/deletedVaults/" + d.Parsed.Name())
	if err != nil {
		return // unreachable: the name was parsed before
	}
	p := value.Sub(d.Body, "properties")
	days, ok := value.Int(p, "softDeleteRetentionInDays")
	if !ok {
		days = retention
	}
	shown := value.Object{"vaultId": d.ID, "location": d.Location(), "tags": value.Clone(value.Sub(d.Body, "tags")),
		"deletionDate": t.Now.Format(time.RFC3339), "scheduledPurgeDate": t.Now.AddDate(0, 0, days).Format(time.RFC3339)}
	if value.Bool(p, "enablePurgeProtection") {
		shown["purgeProtectionEnabled"] = true
	}
	children := []any{}
	for _, typ := range []string{typeSecret, typeDeletedSecret, typeKey, typeKeyVersion} {
		for _, child := range t.All(typ, d.ID) {
			children = append(children, value.Object{"id": child.ID, "type": child.Type,
				"body": value.Clone(child.Body), "hidden": value.Clone(child.Hidden)})
		}
	}
	t.Put(&engine.Doc{ID: id.String(), Type: typeDeleted, Parsed: id, Body: value.Object{"properties": shown},
		Hidden: value.Object{"vault": value.Clone(d.Body), "children": children, "created": d.Created.Format(time.RFC3339Nano)}})
}

// findDeleted returns the deleted vault with a name; nil if there is none or its retention has
// ended.
func findDeleted(t *engine.Tx, name string) *engine.Doc {
	for _, d := range t.All(typeDeleted, "") {
		if strings.EqualFold(d.Parsed.Name(), name) && kept(t, d) {
			return d
		}
	}
	return nil
}

// kept reports whether the retention of a deleted vault continues.
func kept(t *engine.Tx, d *engine.Doc) bool {
	at, err := time.Parse(time.RFC3339, value.Str(d.Body, "properties", "scheduledPurgeDate"))
	return err == nil && t.Now.Before(at)
}

// recoverVault restores a deleted vault and ignores the properties in the request. That Azure
// refuses another resource group than before with this message is not confirmed.
func recoverVault(t *engine.Tx, d *engine.Doc) *engine.Error {
	deleted := findDeleted(t, d.Parsed.Name())
	if deleted == nil {
		return deletedNotFound(d.Parsed)
	}
	if !strings.EqualFold(value.Str(deleted.Body, "properties", "vaultId"), d.ID) {
		return engine.Conflict("ConflictError", nameDeleted)
	}
	d.Body = value.CloneObject(value.Sub(deleted.Hidden, "vault"))
	d.Created, _ = time.Parse(time.RFC3339Nano, value.Str(deleted.Hidden, "created")) // cannot fail: keepDeleted wrote the time
	completeVault(t, d, d)
	for _, child := range value.Items(deleted.Hidden, "children") {
		id, err := engine.ParseID(value.Str(child, "id"))
		if err != nil {
			continue // unreachable: the ID was parsed before
		}
		t.Put(&engine.Doc{
			ID: id.String(), Type: value.Str(child, "type"), Parsed: id,
			Body: value.CloneObject(value.Sub(child, "body")), Hidden: value.CloneObject(value.Sub(child, "hidden")),
		})
	}
	t.Drop(deleted.ID)
	return nil
}

// deletedNotFound returns the error for a deleted vault that does not exist.
func deletedNotFound(id engine.ID) *engine.Error {
	return engine.Refuse(http.StatusNotFound, "DeletedVaultNotFound", "The specified deleted vault '%s' does "+
		"not exist. Ensure that the vault was indeed deleted and that it is in recoverable state. If soft "+
		"delete was not enabled then the vault is permanently deleted. Follow this link for more information: "+
		"https://go.microsoft.com/fwlink/?linkid=2149745", id.Name())
}

// serveDeleted leaves reads to the engine and refuses writes.
func serveDeleted(c *engine.Request) (bool, *engine.Error) {
	if c.HTTP.Method != http.MethodGet {
		return true, engine.NotAllowed(c.HTTP.Method)
	}
	gone := false
	c.Server.Read(func(t *engine.Tx) { gone = findDeleted(t, c.ID.Name()) == nil })
	if gone {
		return true, deletedNotFound(c.ID)
	}
	return false, nil
}

// listDeleted answers the deleted vaults of a subscription.
func listDeleted(c *engine.Request) *engine.Error {
	out := []any{}
	c.Server.Read(func(t *engine.Tx) {
		for _, d := range t.All(typeDeleted, "/subscriptions/"+c.ID.Subscription) {
			if kept(t, d) {
				out = append(out, t.View(d, ""))
			}
		}
	})
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}

// viewDeleted sets the type to Azure's name, which differs from the type in the path.
func viewDeleted(_ *engine.Tx, _ *engine.Doc, body value.Object, _ string) {
	body["type"] = "Microsoft.KeyVault/deletedVaults"
}

// beginPurge refuses to purge a vault or secret with purge protection.
func beginPurge(t *engine.Tx, d *engine.Doc, _ value.Object) *engine.Error {
	if value.Bool(d.Body, "properties", "purgeProtectionEnabled") {
		return engine.Refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "Operation 'DeletedVaultPurge' is not allowed.")
	}
	return nil
}

func finishPurge(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	if err == nil {
		t.Drop(op.Target)
	}
}
