package azuresim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"casement.dev/casement/azuresim/internal/value"
)

// secret sends a request to the data plane of the vault kv1.
func (a *azure) secret(method, path, body string) (int, value.Object) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, "https://kv1."+VaultDomain+path+"?api-version=7.4", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.Token("s", "s", "https://"+VaultDomain))
	resp, err := a.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	var out value.Object
	if resp.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			a.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return resp.StatusCode, out
}

// TestDeletedSecrets deletes secrets through the data plane: the name of each remains in use until
// it is recovered, purged or its retention ends, also in a vault that was deleted in the meantime.
func TestDeletedSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, Config{})
		defer a.Close()
		a.group()
		a.carried("PUT", vaultPath, vaultBody(`, "softDeleteRetentionInDays": 7`))
		for _, step := range []struct {
			method, path, body string
			status             int
			code               string
		}{
			{"GET", "/certificates/contacts", "", 404, "ContactsNotFound"},
			{"GET", "/certificates/c", "", 404, "CertificateNotFound"},
			{"GET", "/keys/k", "", 404, "KeyNotFound"},
			{"GET", "/keys", "", 200, ""},
			{"POST", "/keys/k/create", "{}", 400, "BadParameter"},
			{"POST", "/keys/k/create", `{"kty": "DSA"}`, 400, "BadParameter"},
			{"POST", "/keys/k/create", `{"kty": "RSA"}`, 501, "NotSupportedByLocalAzure"},
			{"POST", "/certificates/c/create", "{}", 400, "BadParameter"},
			{"POST", "/certificates/c/create", `{"policy": {}}`, 501, "NotSupportedByLocalAzure"},
			{"PUT", "/secrets/a_b", `{"value": "v"}`, 400, "BadParameter"},
			{"PUT", "/secrets/s", `{"value": "v"}`, 200, ""},
			{"GET", "/deletedsecrets/s", "", 404, "SecretNotFound"},
			{"DELETE", "/secrets/s", "", 200, ""},
			{"DELETE", "/secrets/s", "", 404, "SecretNotFound"},
			{"GET", "/secrets/s", "", 404, "SecretNotFound"},
			{"GET", "/deletedsecrets/s", "", 200, ""},
			{"PUT", "/secrets/s", `{"value": "w"}`, 409, "Conflict"},
			{"POST", "/deletedsecrets/s/recover", "", 200, ""},
			{"GET", "/deletedsecrets/s", "", 404, "SecretNotFound"},
			{"DELETE", "/secrets/s", "", 200, ""},
			{"DELETE", "/deletedsecrets/s", "", 204, ""},
			{"DELETE", "/deletedsecrets/s", "", 404, "SecretNotFound"},
			{"PUT", "/secrets/s", `{"value": "w"}`, 200, ""},
			{"DELETE", "/secrets/s", "", 200, ""},
		} {
			if status, answer := a.secret(step.method, step.path, step.body); status != step.status ||
				value.Str(answer, "error", "code") != step.code {
				t.Errorf("%s %s: %d %v, want %d %s", step.method, step.path, status, answer, step.status, step.code)
			}
		}
		if code := a.refusal("PUT", vaultPath+"/secrets/s", `{"properties": {"value": "v"}}`); code != "Conflict" {
			t.Errorf("the resource manager takes the name of a deleted secret: %q", code)
		}
		for _, path := range []string{vaultPath + "/deletedSecrets/s", vaultPath + "/deletedSecrets"} {
			if status, answer, _ := a.speak("GET", path, ""); status == 200 && len(value.Items(answer, "value")) > 0 {
				t.Errorf("the resource manager shows %s: %v", path, answer)
			}
		}
		a.carried("DELETE", vaultPath, "")
		a.carried("PUT", vaultPath, vaultBody(`, "createMode": "recover"`))
		if _, answer := a.secret("GET", "/deletedsecrets", ""); len(value.Items(answer, "value")) != 1 {
			t.Errorf("a recovered vault has the deleted secrets %v, want 1", answer)
		}
		time.Sleep(7 * 24 * time.Hour)
		if status, answer := a.secret("PUT", "/secrets/s", `{"value": "later"}`); status != 200 {
			t.Errorf("a name whose retention is over: %d %v", status, answer)
		}
	})
}
