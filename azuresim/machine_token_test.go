package azuresim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/entra"
)

// TestMachineMayWhatItsRolesSay: with the token of its metadata service a machine may do what the roles of its identity
// allow, in the scope of the roles. What else there is in the subscription it neither changes nor reads.
func TestMachineMayWhatItsRolesSay(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	const sub = "/subscriptions/" + engine.DefaultSubscription
	const own, other = sub + "/resourceGroups/g", sub + "/resourceGroups/other"
	const identity = own + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u"
	a.carried("PUT", strings.TrimPrefix(other, sub+"/"), `{"location": "westeurope"}`)
	a.carried("PUT", strings.TrimPrefix(identity, sub+"/"), `{"location": "westeurope"}`)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com/", nil)
	r.Header.Set("Metadata", "true")
	w := httptest.NewRecorder()
	entra.ServeIdentity(a.Server, w, r, []string{identity})
	var token struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &token); err != nil || token.Token == "" {
		t.Fatal(err, w.Body)
	}
	ask := func(method, path, version, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://management.azure.com"+path+"?api-version="+version,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := a.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	const assignment = "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000"
	role := func(guid string) string {
		live, _ := a.Get(identity)
		var body struct {
			Properties struct {
				PrincipalID string `json:"principalId"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(live, &body); err != nil {
			t.Fatal(err)
		}
		return `{"properties": {"principalId": "` + body.Properties.PrincipalID + `", "roleDefinitionId": "` + sub +
			`/providers/Microsoft.Authorization/roleDefinitions/` + guid + `"}}`
	}
	const contributor, reader = "b24988ac-6180-42a0-ab88-20f7382dd24c", "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	const template = `{"properties": {"mode": "Incremental", "template": {"$schema":
		"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": []}}}`
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
		{"deploy", "PUT", own + "/providers/Microsoft.Resources/deployments/d", "2021-04-01", template, 403},
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
	check("a contributor", append([]row{
		{"write", "PUT", own + address, "2024-05-01", static, 201}}, always...))
}
