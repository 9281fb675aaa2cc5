package arm

import "net/http"

// keyvaultProvider is Microsoft.KeyVault.
func keyvaultProvider() Provider {
	return Provider{
		Namespace: "Microsoft.KeyVault",
		Versions:  []string{"2024-11-01", "2023-07-01", "2022-07-01", "2019-09-01"},
		Types: []Type{
			{Name: typeVault, Sync: true, Prepare: prepareVault, Refs: []Reference{{Path: "networkAcls.virtualNetworkRules", To: "Microsoft.Network/virtualNetworks/subnets"}}},
			{Name: typeSecret, Sync: true, Global: true, Prepare: prepareSecret},
		},
		Routes: []Route{{Method: http.MethodPost, Path: "checknameavailability", Serve: vaultNameFree}},
		Data: func(c *call) (bool, *Error) {
			vault, login, ok := vaultOf(c.host)
			if !ok {
				return false, nil
			}
			return true, c.serveVault(vault, login)
		},
		Hosts: append([]string{"*." + VaultDomain}, vaultHosts()...),
	}
}

// vaultHosts are the names of key vaults in Azure's clouds.
func vaultHosts() []string {
	var out []string
	for _, c := range Clouds() {
		out = append(out, "*."+c.Vault)
	}
	return out
}
