package azuresim

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const (
	vaultPath   = "resourceGroups/g/providers/Microsoft.KeyVault/vaults/kv1"
	deletedPath = "providers/Microsoft.KeyVault/locations/westeurope/deletedVaults/kv1"
)

func vaultBody(properties string) string {
	return `{"location": "westeurope", "properties": {"tenantId": "` + engine.DefaultTenant + `"` + properties + `}}`
}

// TestVaultLife deletes a vault, whose name remains taken, recovers it with its content,
// and purges it.
func TestVaultLife(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	a.carried("PUT", vaultPath, vaultBody(`, "enabledForDiskEncryption": true`))
	a.carried("PUT", vaultPath+"/secrets/s", `{"properties": {"value": "v"}}`)
	key := value.Str(a.carried("PUT", vaultPath+"/keys/k", `{"properties": {"kty": "RSA"}}`), "properties", "keyUriWithVersion")
	if again := value.Str(a.carried("PUT", vaultPath+"/keys/k", `{"properties": {"kty": "EC"}}`), "properties",
		"keyUriWithVersion"); again != key || key == "" {
		t.Errorf("a second PUT of a key gives the version %q, want %q", again, key)
	}
	if n := len(value.Items(a.carried("GET", vaultPath+"/keys/k/versions", ""), "value")); n != 1 {
		t.Errorf("a key has %d versions, want 1", n)
	}
	if code := a.refusal("POST", deletedPath+"/purge", ""); code != "DeletedVaultNotFound" {
		t.Errorf("purge of a vault that is not deleted: %q", code)
	}

	a.carried("DELETE", "resourceGroups/g", "")
	a.group()
	if n := len(value.Items(a.carried("GET", "providers/Microsoft.KeyVault/deletedVaults", ""), "value")); n != 1 {
		t.Errorf("%d vaults are deleted, want 1", n)
	}
	if code := a.refusal("PUT", vaultPath, vaultBody("")); code != "ConflictError" {
		t.Errorf("a new vault with the name of a deleted one: %q", code)
	}
	if code := a.refusal("PUT", "resourceGroups/g/providers/Microsoft.KeyVault/vaults/other",
		vaultBody(`, "createMode": "recover"`)); code != "DeletedVaultNotFound" {
		t.Errorf("the recovery of a vault that was never there: %q", code)
	}
	recovered := a.carried("PUT", vaultPath, vaultBody(`, "createMode": "recover"`))
	if !value.Bool(recovered, "properties", "enabledForDiskEncryption") {
		t.Error("the recovered vault is not the deleted one")
	}
	a.carried("GET", vaultPath+"/secrets/s", "")
	a.carried("GET", vaultPath+"/keys/k", "")
	if code := a.refusal("GET", deletedPath, ""); code != "DeletedVaultNotFound" {
		t.Errorf("the recovered vault is still deleted: %q", code)
	}

	a.carried("DELETE", vaultPath, "")
	a.carried("POST", deletedPath+"/purge", "")
	a.carried("PUT", vaultPath, vaultBody(`, "enablePurgeProtection": true`))
	if code := a.refusal("GET", vaultPath+"/secrets/s", ""); code != "ResourceNotFound" {
		t.Errorf("a secret survives the purge: %q", code)
	}
	a.carried("DELETE", vaultPath, "")
	if code := a.refusal("POST", deletedPath+"/purge", ""); code != "MethodNotAllowed" {
		t.Errorf("purge of a protected vault: %q", code)
	}
}

// TestKnownLater: in Azure's time the name of a new vault does not resolve immediately, role
// assignments do not know a new identity immediately, and a deleted vault is purged after its
// retention.
func TestKnownLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, Config{Latency: RealTime})
		defer a.Close()
		a.group()
		a.carried("PUT", vaultPath, vaultBody(`, "softDeleteRetentionInDays": 7`))
		state := func() string { return value.Str(a.carried("GET", vaultPath, ""), "properties", "provisioningState") }
		if state() != "RegisteringDns" {
			t.Errorf("a new vault is %s", state())
		}
		const identity = "resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u"
		principal := value.Str(a.carried("PUT", identity, `{"location": "westeurope"}`), "properties", "principalId")
		const assignment = "resourceGroups/g/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000a"
		grant := func(more string) string {
			return `{"properties": {"principalId": "` + principal + `", "roleDefinitionId": "/providers/` +
				`Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"` + more + `}}`
		}
		if code := a.refusal("PUT", assignment, grant("")); code != "PrincipalNotFound" {
			t.Errorf("a role for an identity of a moment ago: %q", code)
		}
		a.carried("PUT", assignment, grant(`, "principalType": "ServicePrincipal"`))
		a.carried("DELETE", assignment, "")
		time.Sleep(time.Minute)
		a.carried("PUT", assignment, grant(""))
		if state() != "Succeeded" {
			t.Errorf("a vault is %s after a minute", state())
		}
		a.carried("DELETE", vaultPath, "")
		a.carried("GET", deletedPath, "")
		time.Sleep(8 * 24 * time.Hour)
		if code := a.refusal("GET", deletedPath, ""); code != "DeletedVaultNotFound" {
			t.Errorf("a deleted vault after its week: %q", code)
		}
	})
}

// TestStorageAccount creates and deletes accounts: the creation is an operation, the delete
// completes immediately.
func TestStorageAccount(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	const path = "resourceGroups/g/providers/Microsoft.Storage/storageAccounts/"
	const body = `{"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}`
	if status, _, h := a.speak("PUT", path+"boot0", body); status != 202 || h.Get("Location") == "" {
		t.Errorf("a new account: %d, Location %q", status, h.Get("Location"))
	}
	a.carried("PUT", path+"boot1", body)
	for name, tc := range map[string]struct{ path, body, code string }{
		"a bad name": {path + "Boot", body, "AccountNameInvalid"},
		"no kind": {path + "boot2", `{"location": "westeurope", "sku": {"name": "Standard_LRS"}}`,
			"InvalidValuesForRequestParameters"},
		"a taken name": {"resourceGroups/h/providers/Microsoft.Storage/storageAccounts/boot1", body, "StorageAccountAlreadyTaken"},
	} {
		a.carried("PUT", "resourcegroups/h", `{"location": "westeurope"}`)
		if code := a.refusal("PUT", tc.path, tc.body); code != tc.code {
			t.Errorf("%s: %q, want %q", name, code, tc.code)
		}
	}
	for _, step := range []struct {
		method string
		status int
	}{{"GET", 200}, {"DELETE", 200}, {"DELETE", 204}} {
		if status, _, _ := a.speak(step.method, path+"boot1", ""); status != step.status {
			t.Errorf("%s: %d, want %d", step.method, status, step.status)
		}
	}
}

// TestAccessPolicies changes single access policies of a vault and keeps the others.
func TestAccessPolicies(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	policy := func(object, secrets string) string {
		return `{"tenantId": "` + engine.DefaultTenant + `", "objectId": "` + object + `", "permissions": {"secrets": [` + secrets + `]}}`
	}
	one, two := "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
	a.carried("PUT", vaultPath, vaultBody(`, "accessPolicies": [`+policy(one, `"get"`)+`]`))
	for _, step := range []struct{ kind, policy, want string }{
		{"add", policy(two, `"get"`), "1:get 2:get"},
		{"add", policy(one, `"List"`), "1:get,List 2:get"},
		{"replace", policy(one, `"set"`), "1:set 2:get"},
		{"remove", policy(two, `"Get"`), "1:set"},
		{"remove", policy(two, `"get"`), "1:set"},
	} {
		a.carried("PUT", vaultPath+"/accessPolicies/"+step.kind, `{"properties": {"accessPolicies": [`+step.policy+`]}}`)
		var got []string
		for _, p := range value.Items(a.carried("GET", vaultPath, ""), "properties", "accessPolicies") {
			object := value.Str(p, "objectId")
			got = append(got, object[len(object)-1:]+":"+strings.Join(value.Texts(p, "permissions", "secrets"), ","))
		}
		if s := strings.Join(got, " "); s != step.want {
			t.Errorf("after %s %s: %q, want %q", step.kind, step.policy, s, step.want)
		}
	}
	if code := a.refusal("PUT", vaultPath+"x/accessPolicies/add", `{"properties": {"accessPolicies": []}}`); code != "ResourceNotFound" {
		t.Errorf("policies of no vault: %q", code)
	}
}
