package storage

import (
	"crypto/hmac"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeAccount = "Microsoft.Storage/storageAccounts"

// accountType returns the resource type of storage accounts.
func accountType() engine.Type {
	return engine.Type{Name: typeAccount, Style: engine.StyleStorage, Sync: true, AsyncCreate: true,
		Takes: 17 * time.Second, Created: http.StatusAccepted, Prepare: prepareAccount,
		Actions: []engine.Action{{Name: "listkeys", Serve: listKeys}}}
}

// listKeys answers the keys of an account.
func listKeys(c *engine.Request, id engine.ID) *engine.Error {
	var d *engine.Doc
	c.Server.Read(func(t *engine.Tx) { d = t.Find(id.Key()) })
	if d == nil {
		return engine.Refuse(http.StatusNotFound, "ResourceNotFound", "The Resource '%s' was not found.", id)
	}
	first, second := accountKey(c.Server, d, "key1"), accountKey(c.Server, d, "key2")
	if c.Version < kindsSince {
		c.Reply(http.StatusOK, value.Object{"key1": first, "key2": second})
		return nil
	}
	key := func(name, v string) value.Object {
		return value.Object{"keyName": name, "value": v, "permissions": "FULL",
			"creationTime": value.At(d.Body, "properties", "keyCreationTime", name)}
	}
	c.Reply(http.StatusOK, value.Object{"keys": []any{key("key1", first), key("key2", second)}})
	return nil
}

// accountKey returns a key of an account, which is computed from the key's creation time.
func accountKey(s *engine.Server, d *engine.Doc, name string) string {
	return base64.StdEncoding.EncodeToString(s.Signer.Derive(d.Key(), name, value.Str(d.Body, "properties", "keyCreationTime", name)))
}

// TakesKey reports whether a key is one of the keys of the storage account with an ID.
func TakesKey(s *engine.Server, id, key string) (takes bool) {
	s.Read(func(t *engine.Tx) {
		if d := t.Find(id); d != nil && d.Type == typeAccount {
			takes = slices.ContainsFunc([]string{"key1", "key2"}, func(name string) bool {
				return hmac.Equal([]byte(accountKey(s, d, name)), []byte(key))
			})
		}
	})
	return takes
}

// accountName matches valid names of storage accounts. Source:
// https://learn.microsoft.com/azure/storage/common/storage-account-overview.
var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// services lists the endpoints of accounts of each kind.
var services = map[string][]string{
	"StorageV2":        {"blob", "dfs", "file", "queue", "table", "web"},
	"Storage":          {"blob", "file", "queue", "table"},
	"BlobStorage":      {"blob", "dfs", "table"},
	"BlockBlobStorage": {"blob", "dfs", "web"},
	"FileStorage":      {"file"},
}

// kindsSince is the first API version in which an account has a kind and an sku. In older versions
// its kind is Storage and its accountType is the later sku. Source:
// https://learn.microsoft.com/azure/templates/microsoft.storage/2015-06-15/storageaccounts.
const kindsSince = "2016-01-01"

// prepareAccount checks and completes a storage account.
func prepareAccount(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if p := value.Props(d.Body); d.Version < kindsSince && d.Version != "" {
		value.SetDefault(d.Body, "kind", "Storage")
		if account := value.Str(p, "accountType"); account != "" && d.Body["sku"] == nil {
			d.Body["sku"] = value.Object{"name": account}
		}
		delete(p, "accountType")
	}
	name, kind, sku := d.Parsed.Name(), value.Str(d.Body, "kind"), value.Str(d.Body, "sku", "name")
	switch {
	case !accountName.MatchString(name):
		return engine.BadRequest("AccountNameInvalid", "%s is not a valid storage account name. Storage account "+
			"name must be between 3 and 24 characters in length and use numbers and lower-case letters "+
			"only.", name)
	case services[kind] == nil:
		return engine.BadRequest("InvalidValuesForRequestParameters", "Values for request parameters are invalid: kind.")
	case sku == "":
		return engine.BadRequest("InvalidValuesForRequestParameters", "Values for request parameters are invalid: sku.")
	case old == nil && kind == "Storage" && engine.Retired(t.Now, "2026-10-13"):
		// Source: https://learn.microsoft.com/azure/storage/common/general-purpose-version-1-account-migration-overview.
		return engine.BadRequest("OperationNotAllowed", "General-purpose v1 storage accounts (kind Storage) were retired on October 13, "+
			"2026: create an account of the kind StorageV2.")
	case slices.Contains([]string{"TLS1_0", "TLS1_1"}, value.Str(d.Body, "properties", "minimumTlsVersion")) &&
		engine.Retired(t.Now, "2026-02-03"):
		// Source: https://learn.microsoft.com/azure/storage/common/transport-layer-security-configure-migrate-to-tls2.
		return engine.BadRequest("InvalidRequestPropertyValue", "The value '%s' is not allowed for property minimumTlsVersion: TLS 1.0 and "+
			"1.1 were retired on February 3, 2026. Use TLS1_2.", value.Str(d.Body, "properties", "minimumTlsVersion"))
	case old == nil && findAccount(t, name) != nil:
		return engine.Conflict("StorageAccountAlreadyTaken", "The storage account named %s is already taken.", name)
	}
	tier, _, _ := strings.Cut(sku, "_")
	value.Sub(d.Body, "sku")["tier"] = tier
	p := value.Props(d.Body)
	if old != nil {
		p["keyCreationTime"], p["creationTime"] = value.At(old.Body, "properties", "keyCreationTime"),
			value.At(old.Body, "properties", "creationTime")
	}
	now := t.Now.Format("2006-01-02T15:04:05.0000000Z")
	service := value.Object{"keyType": "Account", "enabled": true, "lastEnabledTime": now}
	made := value.Object{
		"keyCreationTime": value.Object{"key1": now, "key2": now}, "creationTime": now,
		"encryption": value.Object{"keySource": "Microsoft.Storage",
			"services": value.Object{"file": service, "blob": value.Clone(service)}},
		"primaryLocation": d.Location(),
	}
	for field, v := range made {
		value.SetDefault(p, field, v)
	}
	endpoints := value.Object{}
	for _, s := range services[kind] {
		endpoints[s] = "https://" + name + "." + s + ".core.windows.net/"
	}
	if endpoints["web"] != nil {
		endpoints["web"] = "https://" + name + ".z1.web.core.windows.net/"
	}
	p["primaryEndpoints"] = endpoints
	if old == nil {
		for _, service := range []string{"blobServices", "fileServices"} { // every account has these from the start
			id := d.Parsed
			id.Types, id.Names = append(slices.Clone(id.Types), service), append(slices.Clone(id.Names), "default")
			t.Put(&engine.Doc{ID: id.String(), Type: typeAccount + "/" + service, Parsed: id, Body: value.Object{}, Hidden: value.Object{}})
		}
	}
	return nil
}

// findAccount returns the account with a name, which is unique in all of Azure, or nil.
func findAccount(t *engine.Tx, name string) *engine.Doc {
	all := t.All(typeAccount, "")
	i := slices.IndexFunc(all, func(d *engine.Doc) bool { return strings.EqualFold(d.Parsed.Name(), name) })
	if i < 0 {
		return nil
	}
	return all[i]
}

// nameFree answers whether an account's name is available.
func nameFree(c *engine.Request) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	name, taken := value.Str(body, "name"), false
	c.Server.Read(func(t *engine.Tx) { taken = findAccount(t, name) != nil })
	answer := value.Object{"nameAvailable": !taken}
	if taken {
		answer["reason"], answer["message"] = "AlreadyExists", "The storage account named "+name+" is already taken."
	}
	c.Reply(http.StatusOK, answer)
	return nil
}
