package azuresim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/entra"
)

// TestVaultAccess reads secrets as the identity of a machine: only secrets for which the identity
// has a role, and only with an identity that is assigned to the machine.
func TestVaultAccess(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	const group = "resourceGroups/g/providers/"
	a.carried("PUT", vaultPath, vaultBody(`, "enableRbacAuthorization": true`))
	for _, name := range []string{"own", "other"} {
		a.carried("PUT", group+"Microsoft.ManagedIdentity/userAssignedIdentities/"+name, `{"location": "westeurope"}`)
		a.carried("PUT", vaultPath+"/secrets/"+name, `{"properties": {"value": "v-`+name+`"}}`)
	}
	id := "/subscriptions/" + engine.DefaultSubscription + "/" + group + "Microsoft.ManagedIdentity/userAssignedIdentities/own"
	live, _ := a.Get(id)
	var body struct {
		Properties struct {
			PrincipalID string `json:"principalId"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(live, &body); err != nil {
		t.Fatal(err)
	}
	a.carried("PUT", vaultPath+"/secrets/own/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000a",
		`{"properties": {"principalId": "`+body.Properties.PrincipalID+`", "roleDefinitionId": "/subscriptions/`+
			engine.DefaultSubscription+
			`/providers/Microsoft.Authorization/roleDefinitions/4633458b-17de-408a-b874-0445c86b69e6"}}`)

	token := func(query url.Values, assigned ...string) (int, string) {
		query.Set("api-version", "2018-02-01")
		query.Set("resource", "https://vault.azure.net")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://169.254.169.254/metadata/identity/oauth2/token?"+query.Encode(), nil)
		r.Header.Set("Metadata", "true")
		w := httptest.NewRecorder()
		entra.ServeIdentity(a.Server, w, r, assigned)
		var answer struct {
			Token string `json:"access_token"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		return w.Code, answer.Token
	}
	for _, tc := range []struct {
		name     string
		query    url.Values
		assigned []string
		status   int
	}{
		{"named", url.Values{"msi_res_id": {id}}, []string{id}, 200},
		{"the only one", url.Values{}, []string{id}, 200},
		{"another machine's", url.Values{"msi_res_id": {strings.Replace(id, "/own", "/other", 1)}}, []string{id}, 400},
		{"none", url.Values{}, nil, 400},
		{"one of two", url.Values{}, []string{id, strings.Replace(id, "/own", "/other", 1)}, 400},
	} {
		if status, _ := token(tc.query, tc.assigned...); status != tc.status {
			t.Errorf("%s: %d, want %d", tc.name, status, tc.status)
		}
	}
	_, own := token(url.Values{}, id)
	ask := func(vault, method, path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://"+vault+"."+VaultDomain+path+"?api-version=7.4",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+own)
		resp, err := a.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for _, tc := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/secrets/own", "", 200}, {"GET", "/secrets/other", "", 403},
		{"PUT", "/secrets/own", `{"value": "x"}`, 403}, {"DELETE", "/secrets/own", "", 403}, {"GET", "/secrets", "", 403},
	} {
		if got := ask("kv1", tc.method, tc.path, tc.body); got != tc.status {
			t.Errorf("%s %s: %d, want %d", tc.method, tc.path, got, tc.status)
		}
	}

	// Without RBAC the vault's access policies apply.
	const plain = group + "Microsoft.KeyVault/vaults/kv2"
	for _, tc := range []struct {
		name, policies string
		read, write    int
	}{
		{"no policy", `[]`, 403, 403},
		{"a policy of another", accessPolicy("00000000-0000-0000-0000-0000000000ff", "all"), 403, 403},
		{"may read", accessPolicy(body.Properties.PrincipalID, "Get"), 200, 403},
		{"may do all", accessPolicy(body.Properties.PrincipalID, "all"), 200, 200},
	} {
		a.carried("PUT", plain, vaultBody(`, "accessPolicies": `+tc.policies))
		a.carried("PUT", plain+"/secrets/s", `{"properties": {"value": "v"}}`)
		if got := ask("kv2", "GET", "/secrets/s", ""); got != tc.read {
			t.Errorf("%s: read: %d, want %d", tc.name, got, tc.read)
		}
		if got := ask("kv2", "PUT", "/secrets/s", `{"value": "x"}`); got != tc.write {
			t.Errorf("%s: write: %d, want %d", tc.name, got, tc.write)
		}
	}
}

// accessPolicy returns the access policies of a vault that permit a principal one operation on
// secrets.
func accessPolicy(principal, permission string) string {
	return `[{"tenantId": "` + engine.DefaultTenant + `", "objectId": "` + principal +
		`", "permissions": {"secrets": ["` + permission + `"]}}]`
}
