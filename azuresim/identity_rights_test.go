package azuresim

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/entra"
)

// TestIdentityMayWhatItsRolesSay: a managed identity may do what its roles allow, in the scope of
// the roles, with a token from the metadata service or from a federated login. All other resources
// of the subscription it can neither change nor read, under any name.
func TestIdentityMayWhatItsRolesSay(t *testing.T) {
	_, issuerPEM, issuerKey := keyPair(t)
	for way, logIn := range map[string]func(a *azure, identity string) string{
		"metadata": func(a *azure, identity string) string {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
				"http://169.254.169.254"+tokenPath+"?api-version=2018-02-01&resource=https://management.azure.com/", nil)
			r.Header.Set("Metadata", "true")
			w := httptest.NewRecorder()
			entra.ServeIdentity(a.Server, w, r, []string{identity})
			return w.Body.String()
		},
		"federated": func(a *azure, identity string) string {
			a.put(identity+"/federatedIdentityCredentials/fic",
				`{"properties": {"issuer": "https://issuer.test/", "subject": "s", "audiences": ["api://AzureADTokenExchange"]}}`)
			form := url.Values{"grant_type": {"client_credentials"}, "client_id": {a.identityOf(identity).ClientID},
				"scope":                 {"https://management.azure.com/.default"},
				"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
				"client_assertion":      {federatedToken(issuerKey, "s", "api://AzureADTokenExchange", time.Hour)}}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost,
				"https://azure.test/"+engine.DefaultTenant+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			a.ServeHTTP(w, r)
			return w.Body.String()
		},
	} {
		t.Run(way, func(t *testing.T) {
			a := start(t, Config{Issuer: func(context.Context, string) (string, error) { return issuerPEM, nil }})
			defer a.Close()
			holdsToItsRoles(t, a, func(identity string) string {
				var token struct {
					Token string `json:"access_token"`
				}
				text := logIn(a, identity)
				if err := json.Unmarshal([]byte(text), &token); err != nil || token.Token == "" {
					t.Fatal(err, text)
				}
				return token.Token
			})
		})
	}
}

const tokenPath = "/metadata/identity/oauth2/token"

// managed are the properties of a managed identity.
type managed struct {
	ClientID    string `json:"clientId"`
	PrincipalID string `json:"principalId"`
}

func (a *azure) identityOf(id string) managed {
	a.t.Helper()
	live, _ := a.Get(id)
	var body struct{ Properties managed }
	if err := json.Unmarshal(live, &body); err != nil {
		a.t.Fatal(err)
	}
	return body.Properties
}

func holdsToItsRoles(t *testing.T, a *azure, logIn func(identity string) string) {
	a.group()
	const sub = "/subscriptions/" + engine.DefaultSubscription
	const own, other = sub + "/resourceGroups/g", sub + "/resourceGroups/other"
	const identities = "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/"
	const identity, boss = own + identities + "u", other + identities + "boss"
	a.carried("PUT", strings.TrimPrefix(other, sub+"/"), `{"location": "westeurope"}`)
	for _, id := range []string{identity, boss} {
		a.carried("PUT", strings.TrimPrefix(id, sub+"/"), `{"location": "westeurope"}`)
	}
	token := logIn(identity)
	var answered http.Header
	ask := func(method, path, version, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://management.azure.com"+path+"?api-version="+version,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := a.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		answered = resp.Header
		return resp.StatusCode
	}
	const assignment = "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000"
	role := func(guid string) string {
		return `{"properties": {"principalId": "` + a.identityOf(identity).PrincipalID + `", "roleDefinitionId": "` + sub +
			`/providers/Microsoft.Authorization/roleDefinitions/` + guid + `"}}`
	}
	const contributor, reader = "b24988ac-6180-42a0-ab88-20f7382dd24c", "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	const template = `{"properties": {"mode": "Incremental", "template": {"$schema":
		"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": [`
	const end = `]}}}`
	const deployment = "/providers/Microsoft.Resources/deployments/d"
	type row struct {
		name, method, path, version, body string
		status                            int
	}
	check := func(when string, rows []row) {
		t.Helper()
		for _, c := range rows {
			if got := ask(c.method, c.path, c.version, c.body); got != c.status {
				t.Errorf("%s: %s: %d, want %d", when, c.name, got, c.status)
			}
		}
	}
	const address = "/providers/Microsoft.Network/publicIPAddresses/p"
	const static = `{"location": "westeurope", "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}}`
	always := []row{
		{"delete another group", "DELETE", other, "2021-04-01", "", 403},
		{"read another group", "GET", other, "2021-04-01", "", 403},
		{"write in another group", "PUT", other + address, "2024-05-01", static, 403},
		{"give itself a role", "PUT", own + assignment + "9", "2022-04-01", role(contributor), 403},
		{"give itself a role on the subscription", "PUT", sub + assignment + "8", "2022-04-01", role(contributor), 403},
		{"deploy elsewhere", "PUT", other + deployment, "2021-04-01", template + end, 403},
		{"ask what a template would change", "POST", own + deployment + "/whatIf", "2021-04-01", template + end, 403},
		{"list groups", "GET", sub + "/resourceGroups", "2021-04-01", "", 403},
	}
	check("no role", append([]row{
		{"delete the own group", "DELETE", own, "2021-04-01", "", 403},
		{"write", "PUT", own + address, "2024-05-01", static, 403}}, always...))
	a.carried("PUT", strings.TrimPrefix(own, sub+"/")+assignment+"1", role(reader))
	check("a reader", append([]row{
		{"read the own group", "GET", own, "2021-04-01", "", 200},
		{"write", "PUT", own + address, "2024-05-01", static, 403}}, always...))
	a.carried("PUT", strings.TrimPrefix(own, sub+"/")+assignment+"2", role(contributor))
	network := func(group string) string {
		a.carried("PUT", strings.TrimPrefix(group, sub+"/")+"/providers/Microsoft.Network/virtualNetworks/v", `{"location": "westeurope",
			"properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
			"subnets": [{"name": "s", "properties": {"addressPrefix": "10.0.0.0/24"}}]}}`)
		return group + "/providers/Microsoft.Network/virtualNetworks/v/subnets/s"
	}
	nic := func(subnet string) string {
		return `{"location": "westeurope", "properties": {"ipConfigurations": [
			{"name": "c", "properties": {"subnet": {"id": "` + subnet + `"}}}]}}`
	}
	ownSubnet, otherSubnet := network(own), network(other)
	a.carried("PUT", strings.TrimPrefix(other, sub+"/")+"/providers/Microsoft.Compute/disks/d",
		`{"location": "westeurope", "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": 1}}`)
	set := func(identity string) string {
		return `{"location": "westeurope", "identity": {"type": "UserAssigned", "userAssignedIdentities": {"` + identity + `": {}}},
			"sku": {"name": "Standard_D2s_v3", "capacity": 0}, "properties": {"upgradePolicy": {"mode": "Manual"},
			"virtualMachineProfile": {"storageProfile": {"imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts",
				"sku": "server", "version": "latest"}},
			"osProfile": {"computerNamePrefix": "ss", "adminUsername": "capi", "adminPassword": "Correct-Horse-1"},
			"networkProfile": {"networkInterfaceConfigurations": [{"name": "n", "properties": {"primary": true, "ipConfigurations": [
				{"name": "c", "properties": {"subnet": {"id": "` + ownSubnet + `"}}}]}}]}}}}`
	}
	const nics = own + "/providers/Microsoft.Network/networkInterfaces/"
	const sets = own + "/providers/Microsoft.Compute/virtualMachineScaleSets/"
	check("a contributor", append([]row{
		{"write", "PUT", own + address, "2024-05-01", static, 201},
		{"an interface in the own network", "PUT", nics + "n", "2024-05-01", nic(ownSubnet), 201},
		{"an interface in another network", "PUT", nics + "o", "2024-05-01", nic(otherSubnet), 403},
		{"a copy of another disk", "PUT", own + "/providers/Microsoft.Compute/snapshots/s", "2024-03-02", `{"location": "westeurope",
			"properties": {"creationData": {"createOption": "Copy", "sourceResourceId": "` + other +
			`/providers/Microsoft.Compute/disks/d"}}}`, 403},
		{"machines with the own identity", "PUT", sets + "a", "2024-07-01", set(identity), 201},
		{"machines with another identity", "PUT", sets + "b", "2024-07-01", set(boss), 403},
		{"another identity for the own machines", "PATCH", sets + "a", "2024-07-01",
			`{"identity": {"type": "UserAssigned", "userAssignedIdentities": {"` + boss + `": {}}}}`, 403},
		{"deploy", "PUT", own + deployment, "2021-04-01", template + end, 201},
	}, always...))

	// A tunnel of a Bastion host requires a reader of the machine; here is no Bastion host.
	for group, want := range map[string]int{own: http.StatusNotFound, other: http.StatusForbidden} {
		if got := a.bastionStatus(token, group+"/providers/Microsoft.Compute/virtualMachines/m"); got != want {
			t.Errorf("a tunnel to a machine in %s: %d, want %d", group, got, want)
		}
	}

	// A template writes with its sender's permissions.
	a.carried("PUT", strings.TrimPrefix(sub+assignment+"3", sub+"/"), role(contributor))
	const grant, made = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
	text := template + `{"type": "Microsoft.Authorization/roleAssignments", "apiVersion": "2022-04-01", "name": "` + grant +
		`", "properties": ` + strings.TrimSuffix(strings.TrimPrefix(strings.Replace(role("8e3af657-a8ff-443c-a75c-2fe8c4bcb635"),
		`"properties": `, "", 1), "{"), "}") + `}, {"type": "Microsoft.Network/publicIPAddresses", "apiVersion": "2024-05-01", "name": "` +
		made + `", ` +
		strings.TrimPrefix(static, "{") + end
	if got := ask("PUT", own+"/providers/Microsoft.Resources/deployments/e", "2021-04-01", text); got != http.StatusCreated {
		t.Fatalf("a deployment: %d", got)
	}
	if e := a.ended(answered); e == nil {
		t.Error("a template of a contributor that grants a role succeeds")
	}
	if _, there := a.Get(own + "/providers/Microsoft.Network/publicIPAddresses/" + made); !there {
		t.Error("a template of a contributor did not write what a contributor may write")
	}
	if _, there := a.Get(own + "/providers/Microsoft.Authorization/roleAssignments/" + grant); there {
		t.Error("a template of a contributor gave the contributor a role")
	}
}
