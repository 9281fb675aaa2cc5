package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// simulatedDomain creates a domain in a local Azure, with everything that machines need to join it,
// and returns the environment variables that name it.
func simulatedDomain(ctx context.Context, casement, state string, s settings) ([]string, error) {
	const name, server, user, password, account = "corp.example", "10.1.0.4", "joiner", "c4n4ry-J0in-passw0rd", "WebApp1"
	domains := func(stdin string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, casement, append([]string{"--state", state, "azure", "domain"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("azure domain %s: %w", args[0], err)
		}
		return out, nil
	}
	if _, err := domains(password+"\n", "add", name, "--dns", server, "--join-user", user, "--join-password-file", "-",
		"--gmsa", account); err != nil {
		return nil, err
	}
	listed, err := domains("", "list", "-o", "json")
	if err != nil {
		return nil, err
	}
	var made []struct{ SID, GUID string }
	if err := json.Unmarshal(listed, &made); err != nil || len(made) != 1 {
		return nil, fmt.Errorf("there are %d domains, not one (%w)", len(made), err)
	}
	g, err := openGroups(s)
	if err != nil {
		return nil, err
	}
	type object = map[string]any
	subscription := "/subscriptions/" + s.subscription
	group := subscription + "/resourceGroups/shared"
	identity := group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/gmsa"
	vault := group + "/providers/Microsoft.KeyVault/vaults/gmsavault"
	const secretsUser = "4633458b-17de-408a-b874-0445c86b69e6" // the role Key Vault Secrets User
	var reader struct{ PrincipalID, TenantID string }
	var safe struct{ VaultURI string }
	for _, do := range []func() error{
		func() error { return g.put(ctx, group, "2021-04-01", s.location, nil) },
		func() error {
			return g.put(ctx, group+"/providers/Microsoft.Network/virtualNetworks/net", "2024-05-01", s.location, object{
				"addressSpace": object{"addressPrefixes": []string{"10.1.0.0/16"}}})
		},
		func() error { return g.put(ctx, identity, "2023-01-31", s.location, nil) },
		func() error { return g.read(ctx, identity, "2023-01-31", &reader) },
		func() error {
			return g.put(ctx, vault, "2023-07-01", s.location, object{"tenantId": reader.TenantID, "enableRbacAuthorization": true,
				"sku": object{"family": "A", "name": "standard"}})
		},
		func() error { return g.read(ctx, vault, "2023-07-01", &safe) },
		func() error {
			return g.put(ctx, vault+"/secrets/join", "2023-07-01", "", object{"value": `CORP\` + user + ":" + password})
		},
		func() error {
			const assignment = "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000a"
			return g.put(ctx, vault+"/secrets/join"+assignment, "2022-04-01", "", object{"principalId": reader.PrincipalID,
				"roleDefinitionId": subscription + "/providers/Microsoft.Authorization/roleDefinitions/" + secretsUser})
		},
	} {
		if err := do(); err != nil {
			return nil, err
		}
	}
	return []string{"DOMAIN_NAME=" + name, "DOMAIN_SID=" + made[0].SID, "DOMAIN_GUID=" + made[0].GUID, "DOMAIN_DNS_SERVERS=" + server,
		"DOMAIN_JOIN_SECRET_URL=" + strings.TrimSuffix(safe.VaultURI, "/") + "/secrets/join", "GMSA_IDENTITY_ID=" + identity,
		"GMSA_ACCOUNT=" + account, "DOMAIN_NETWORK=shared/net", "DOMAIN_OU_PATH="}, nil
}
