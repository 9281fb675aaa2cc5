package keyvault

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeVault = "Microsoft.KeyVault/vaults"

// retention is the number of days for which a deleted vault is kept.
const retention = 90

// resolving is the time until the name of a new vault resolves.
const resolving = 10 * time.Second

var vaultForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{1,22}[A-Za-z0-9]$`)

// checkName returns an error for a name that a vault or an object in a vault cannot have. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftkeyvault.
func checkName(id engine.ID) *engine.Error {
	name := id.Name()
	switch vault := strings.EqualFold(id.FullType(), typeVault); {
	case vault && (!vaultForm.MatchString(name) || strings.Contains(name, "--")):
		return engine.BadRequest("VaultNameNotValid", "The vault name '%s' is invalid. A vault's name must be between 3-24 "+
			"alphanumeric characters. The name must begin with a letter, end with a letter or digit, and not contain consecutive hyphens. "+
			"Follow this link for more information: https://go.microsoft.com/fwlink/?linkid=2147742", name)
	case !vault && !entryForm.MatchString(name):
		return engine.BadRequest("BadRequest", "The name '%s' is invalid: it has 1 to 127 letters, digits and hyphens.", name)
	}
	return nil
}

var entryForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,127}$`)

// prepareVault checks and completes a vault.
func prepareVault(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if value.Str(p, "tenantId") == "" {
		return engine.BadRequest("BadRequest", "The parameter tenantId is not specified.")
	}
	mode := value.Str(p, "createMode")
	delete(p, "createMode") // says how to write and is not stored
	if old == nil {
		if e := nameFree(t, d, mode == "recover"); e != nil {
			return e
		}
		if mode == "recover" {
			return recoverVault(t, d)
		}
		if lag := t.Server.Options.Latency.Of(resolving); lag > 0 {
			d.Hidden["resolves"] = t.Now.Add(lag).Format(time.RFC3339Nano)
		}
	}
	completeVault(t, d, old)
	return nil
}

// completeVault fills in Azure's values. Only a vault that was written again shows its access from
// public networks. The retention days are shown unless the request asked for soft delete without
// them. Soft delete cannot be disabled.
func completeVault(t *engine.Tx, d, old *engine.Doc) {
	p := value.Props(d.Body)
	if old != nil {
		defaults.Fill(typeVault+" again", d.Version, d.Body)
		if days := value.At(old.Body, "properties", "softDeleteRetentionInDays"); days != nil {
			value.SetDefault(p, "softDeleteRetentionInDays", days)
		}
	} else {
		defaults.Fill(typeVault+" new", d.Version, d.Body)
	}
	p["enableSoftDelete"] = true
	p["vaultUri"] = "https://" + d.Parsed.Name() + engine.VaultSuffix(t.Server) + "/"
	signVault(t, d, old)
}

// signVault records the writer of a vault and the time.
func signVault(t *engine.Tx, d, old *engine.Doc) {
	now := t.Now.Format("2006-01-02T15:04:05.000Z")
	data := value.Object{"createdBy": t.Caller, "createdByType": "Application", "createdAt": now}
	if old != nil && old.Body["systemData"] != nil {
		data = value.CloneObject(value.Sub(old.Body, "systemData"))
	}
	data["lastModifiedBy"], data["lastModifiedByType"], data["lastModifiedAt"] = t.Caller, "Application", now
	d.Body["systemData"] = data
}

// viewVault shows the state RegisteringDns while the name of a new vault does not resolve.
func viewVault(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if at, err := time.Parse(time.RFC3339Nano, value.Str(d.Hidden, "resolves")); err == nil && t.Now.Before(at) {
		value.Sub(body, "properties")["provisioningState"] = "RegisteringDns"
	}
}

// findVault returns the vault with a name, which is unique in all of Azure, or nil.
func findVault(t *engine.Tx, name string) *engine.Doc {
	for _, d := range t.All(typeVault, "") {
		if strings.EqualFold(d.Parsed.Name(), name) {
			return d
		}
	}
	return nil
}

// Azure's messages for a name that is in use.
const (
	nameTaken = "The vault name '%s' is already in use. Vault names are globally unique so it is possible " +
		"that the name is already taken. If you are sure that the vault name was not taken then it is possible " +
		"that a vault with the same name was recently deleted but not purged after being placed in a " +
		"recoverable state. If the vault is in a recoverable state then the vault will need to be purged " +
		"before reusing the name. For more information about VaultAlreadyExists, soft delete and purging a " +
		"vault follow this link https://go.microsoft.com/fwlink/?linkid=2147740."
	nameDeleted = "A vault with the same name already exists in deleted state. You need to either recover or " +
		"purge existing key vault. Follow this link https://go.microsoft.com/fwlink/?linkid=2149745 for more " +
		"information on soft delete."
)

// nameFree refuses the name of a new vault if another vault has it, or a deleted vault that the
// request does not recover.
func nameFree(t *engine.Tx, d *engine.Doc, recovers bool) *engine.Error {
	if findVault(t, d.Parsed.Name()) != nil {
		return engine.Conflict("VaultAlreadyExists", nameTaken, d.Parsed.Name())
	}
	if !recovers && findDeleted(t, d.Parsed.Name()) != nil {
		return engine.Conflict("ConflictError", nameDeleted)
	}
	return nil
}

// vaultNameFree answers whether a vault's name is available.
func vaultNameFree(c *engine.Request) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	taken := false
	c.Server.Read(func(t *engine.Tx) {
		taken = findVault(t, value.Str(body, "name")) != nil || findDeleted(t, value.Str(body, "name")) != nil
	})
	if !taken {
		c.Reply(http.StatusOK, value.Object{"nameAvailable": true})
		return nil
	}
	spelled := strings.NewReplacer("%s", value.Str(body, "name"), "globally", "globaly") // Azure's own spelling
	c.Reply(http.StatusOK, value.Object{"nameAvailable": false, "reason": "AlreadyExists", "message": spelled.Replace(nameTaken)})
	return nil
}
