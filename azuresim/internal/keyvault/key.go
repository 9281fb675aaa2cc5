package keyvault

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// Keys and their versions, as the resource manager knows them: it creates the first version of a
// key and no others. There is no key material: other resources only refer to the address of a key.
const (
	typeKey        = typeVault + "/keys"
	typeKeyVersion = typeKey + "/versions"
)

// keyTypes returns the resource types of keys and their versions.
func keyTypes() []engine.Type {
	return []engine.Type{
		{Name: typeKey, Sync: true, Stateless: true, Global: true, Untracked: true, Created: http.StatusOK,
			Prepare: prepareKey, Guard: refuseKeyDelete, Serve: serveKey},
		{Name: typeKeyVersion, Sync: true, Stateless: true, Global: true, Untracked: true,
			Prepare: refuseKeyVersion, Guard: refuseKeyDelete},
	}
}

// keyOperations lists the default operations for the keys of each type. Source:
// https://learn.microsoft.com/rest/api/keyvault/keyvault/keys/create-if-not-exist.
var keyOperations = map[string][]string{
	"RSA": {"encrypt", "decrypt", "sign", "verify", "wrapKey", "unwrapKey"},
	"EC":  {"sign", "verify"},
}

// prepareKey checks and completes a new key.
func prepareKey(t *engine.Tx, d, _ *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	kind := strings.TrimSuffix(value.Str(p, "kty"), "-HSM")
	if keyOperations[kind] == nil {
		return engine.BadRequest("BadParameter",
			"The key type '%s' of the key '%s' is not valid. Valid types are EC, EC-HSM, RSA, RSA-HSM.",
			value.Str(p, "kty"), d.Parsed.Name())
	}
	parent, _ := d.Parsed.Parent()
	vault := t.Find(parent.Key())
	value.SetDefault(p, "keyOps", value.Anys(keyOperations[kind]))
	defaults.Fill(typeKey, d.Version, d.Body)
	attributes := value.Ensure(p, "attributes")
	attributes["created"], attributes["updated"] = t.Now.Unix(), t.Now.Unix()
	attributes["recoveryLevel"] = recoveryLevel(vault)
	version := strings.ReplaceAll(uuid.NewString(), "-", "")
	p["keyUri"] = value.Str(vault.Body, "properties", "vaultUri") + "keys/" + d.Parsed.Name()
	p["keyUriWithVersion"] = value.Str(p, "keyUri") + "/" + version
	d.Body["location"] = vault.Location()
	id := d.Parsed.Child("versions", version)
	t.Put(&engine.Doc{ID: id.String(), Type: typeKeyVersion, Parsed: id, Hidden: value.Object{}, Body: value.CloneObject(d.Body)})
	return nil
}

// recoveryLevel returns a vault's recovery level: whether its deleted keys can be recovered and
// purged.
func recoveryLevel(vault *engine.Doc) string {
	p := value.Sub(vault.Body, "properties")
	level := "Recoverable"
	if days, ok := value.Int(p, "softDeleteRetentionInDays"); ok && days < retention {
		level = "CustomizedRecoverable"
	}
	if value.Bool(p, "enablePurgeProtection") {
		return level
	}
	return level + "+Purgeable"
}

// serveKey answers the PUT of an existing key with the unchanged key.
func serveKey(c *engine.Request) (bool, *engine.Error) {
	if c.HTTP.Method != http.MethodPut {
		return false, nil
	}
	var body value.Object
	c.Server.Read(func(t *engine.Tx) {
		if d := t.Find(c.ID.Key()); d != nil {
			body = t.View(d, "")
		}
	})
	if body == nil {
		return false, nil
	}
	c.Reply(http.StatusOK, body)
	return true, nil
}

// refuseKeyVersion refuses to write a version of a key: the creation of the key creates its
// version.
func refuseKeyVersion(*engine.Tx, *engine.Doc, *engine.Doc) *engine.Error { return errKeyMethod() }

// refuseKeyDelete refuses to delete a key: only the data plane deletes keys.
func refuseKeyDelete(*engine.Tx, *engine.Doc) *engine.Error { return errKeyMethod() }

func errKeyMethod() *engine.Error {
	return engine.Refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The resource manager makes keys and "+
		"reads them. What else is done with them is done at the vault's own address.")
}
