package gmsa

import (
	"flag"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "do it, which takes a minute; make e2e-gmsa does")

const (
	domainName = "corp.example"
	dnsServer  = "10.1.0.4"
	password   = "c4n4ry-J0in-passw0rd"
	cluster    = "demo"
)

// Where the credential is, and the identity that reads it.
const (
	group    = "/resourceGroups/shared"
	identity = group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/gmsa"
	vault    = group + "/providers/Microsoft.KeyVault/vaults/gmsavault"
	secret   = vault + "/secrets/join"
	// secretsUser is the role Key Vault Secrets User.
	secretsUser = "4633458b-17de-408a-b874-0445c86b69e6"
)

// shared makes the identity and the vault with the credential, as an operator would, and
// returns the variables of the flavor.
func shared(t *testing.T, p *plane.Plane) []string {
	t.Helper()
	type object = map[string]any
	sub := "/subscriptions/" + p.Subscription()
	p.Put(group, "2021-04-01", object{"location": "westeurope"})
	p.Put(identity, "2023-01-31", object{"location": "westeurope"})
	var made struct {
		Properties struct{ PrincipalID, ClientID, TenantID string }
	}
	p.ARM(identity, "2023-01-31", &made)
	p.Put(vault, "2023-07-01", object{"location": "westeurope",
		"properties": object{"tenantId": made.Properties.TenantID, "enableRbacAuthorization": true,
			"sku": object{"family": "A", "name": "standard"}}})
	p.Put(secret, "2023-07-01", object{"properties": object{"value": `CORP\joiner:` + password}})
	p.Put(secret+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000a",
		"2022-04-01", object{"properties": object{
			"principalId":      made.Properties.PrincipalID,
			"roleDefinitionId": sub + "/providers/Microsoft.Authorization/roleDefinitions/" + secretsUser}})
	var v struct {
		Properties struct{ VaultURI string }
	}
	p.ARM(vault, "2023-07-01", &v)
	return []string{
		"DOMAIN_NAME=" + domainName, "DOMAIN_DNS_SERVERS=" + dnsServer,
		"DOMAIN_JOIN_SECRET_URL=" + strings.TrimSuffix(v.Properties.VaultURI, "/") + "/secrets/join",
		"GMSA_IDENTITY_ID=" + sub + identity, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1",
	}
}

// TestGMSA is the whole path.
func TestGMSA(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	p := plane.New(t)
	p.Run(nil, "up")
	p.Run([]byte(password+"\n"), "azure", "domain", "add", domainName, "--dns", dnsServer, "--join-user", "joiner",
		"--join-password-file", "-", "--gmsa", "WebApp1")
	for _, v := range shared(t, p) {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	p.Create(cluster, "windows-gmsa")
	p.Run(nil, "wait", cluster, "--timeout", "5m")
	if out := p.Run(nil, "azure", "domain", "list", "-o", "json"); !strings.Contains(out, `"owner"`) || strings.Contains(out, password) {
		t.Errorf("no machine joined, or the list shows the password:\n%s", out)
	}
}
