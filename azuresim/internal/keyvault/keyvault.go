// Package keyvault is the resource provider Microsoft.KeyVault of the local Azure: vaults, deleted
// vaults, keys and secrets, and the data plane of secrets. It imports no other provider; only
// package azuresim imports it.
package keyvault

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
)

// New returns the provider Microsoft.KeyVault.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.KeyVault",
		Types: append([]engine.Type{
			{Name: typeVault, Sync: true, Created: http.StatusOK, Prepare: prepareVault, View: viewVault,
				Gone: keepDeleted, Actions: policyActions(),
				Refs: []engine.Reference{{Path: "networkAcls.virtualNetworkRules", To: "Microsoft.Network/virtualNetworks/subnets", Anywhere: true}}},
			{Name: typeSecret, Sync: true, Created: http.StatusOK, Global: true, Stateless: true, Prepare: prepareSecret},
			deletedSecretType(),
			deletedType(),
		}, append(keyTypes(), engine.KeptTypes("Microsoft.KeyVault", "managedHSMs", engine.Type{})...)...),
		Routes: []engine.Route{
			{Method: http.MethodPost, Path: "checknameavailability", Serve: vaultNameFree},
			{Method: http.MethodGet, Path: "deletedvaults", Serve: listDeleted},
		},
		CheckName: checkName,
		NotFound:  notFound,
		Data: func(c *engine.Request) (bool, *engine.Error) {
			vault, login, ok := vaultOf(c.Host)
			if !ok {
				return false, nil
			}
			return true, serveVault(c, vault, login)
		},
		Hosts: append([]string{"*." + engine.VaultDomain}, vaultHosts()...),
	}
}

// notFound returns the error for a deleted vault that does not exist; for other resources,
// ARM's own error applies.
func notFound(id engine.ID) *engine.Error {
	if strings.EqualFold(id.FullType(), typeDeleted) {
		return deletedNotFound(id)
	}
	return nil
}

// vaultHosts returns the names of key vaults in Azure's clouds.
func vaultHosts() []string {
	var out []string
	for _, c := range engine.Clouds() {
		out = append(out, "*."+c.Vault)
	}
	return out
}
