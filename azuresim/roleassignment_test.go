package azuresim

import "testing"

// TestSameAssignment: a role can be assigned to a principal once at a scope, and again at a scope
// above or below.
func TestSameAssignment(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	const body = `{"properties": {"principalType": "User", "principalId": "00000000-0000-0000-0000-0000000000ff", ` +
		`"roleDefinitionId": "/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"}}`
	at := func(scope, name string) string {
		return scope + "providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000" + name
	}
	a.carried("PUT", vaultPath, vaultBody(`, "enableRbacAuthorization": true`))
	for name, scope := range map[string]string{"1": "resourceGroups/g/", "2": "", "3": vaultPath + "/"} {
		a.carried("PUT", at(scope, name), body)
		a.carried("PUT", at(scope, name), body) // the same PUT again
		if code := a.refusal("PUT", at(scope, "a"), body); code != "RoleAssignmentExists" {
			t.Errorf("the same role at %q: %q", scope, code)
		}
	}
}
