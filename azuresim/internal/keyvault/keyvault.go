// Package keyvault is the resource provider Microsoft.KeyVault of the local
// Azure, and the data plane of its vaults, secrets alone. It imports no other
// provider; package azuresim alone imports it.
package keyvault

import (
	"net/http"

	"casement.dev/casement/azuresim/internal/engine"
)

// New is Microsoft.KeyVault.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.KeyVault",
		Versions:  []string{"2024-11-01", "2023-07-01", "2022-07-01", "2019-09-01"},
		Types: []engine.Type{
			{Name: typeVault, Sync: true, Prepare: prepareVault, Refs: []engine.Reference{{Path: "networkAcls.virtualNetworkRules", To: "Microsoft.Network/virtualNetworks/subnets"}}},
			{Name: typeSecret, Sync: true, Global: true, Prepare: prepareSecret},
		},
		Routes: []engine.Route{{Method: http.MethodPost, Path: "checknameavailability", Serve: vaultNameFree}},
		Data: func(c *engine.Request) (bool, *engine.Error) {
			vault, login, ok := vaultOf(c.Host)
			if !ok {
				return false, nil
			}
			return true, serveVault(c, vault, login)
		},
		Hosts: append([]string{"*." + VaultDomain}, vaultHosts()...),
	}
}

// vaultHosts are the names of key vaults in Azure's clouds.
func vaultHosts() []string {
	var out []string
	for _, c := range engine.Clouds() {
		out = append(out, "*."+c.Vault)
	}
	return out
}
