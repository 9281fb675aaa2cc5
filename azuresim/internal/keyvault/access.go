package keyvault

import (
	"net/http"
	"slices"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// Roles for the data plane of key vaults.
// Source: https://learn.microsoft.com/azure/key-vault/general/rbac-guide.
const (
	secretsUserRole        = "4633458b-17de-408a-b874-0445c86b69e6"
	secretsOfficerRole     = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
	vaultAdministratorRole = "00482a5a-887f-4fb3-b363-3b7fe8e74483"
)

// mayUseSecret checks the role assignments of a managed identity for a secret, in a vault
// that uses RBAC. Access of applications and users, and to vaults with access policies, is
// not emulated: it is always allowed.
func mayUseSecret(c *engine.Request, vault *engine.Doc) *engine.Error {
	managed, ok := c.Server.Principal(func(p engine.Principal) bool { return p.Object == c.Principal })
	if !ok {
		return nil
	}
	if rbac, _ := value.Sub(vault.Body, "properties")["enableRbacAuthorization"].(bool); !rbac {
		return nil
	}
	action, able := "setSecret", []string{secretsOfficerRole, vaultAdministratorRole}
	switch c.HTTP.Method {
	case http.MethodGet:
		action, able = "getSecret", append(able, secretsUserRole)
	case http.MethodDelete:
		action = "delete"
	}
	may := false
	c.Server.Read(func(t *engine.Tx) {
		may = slices.ContainsFunc(t.Roles(c.Principal, c.ID), func(role string) bool { return slices.Contains(able, role) })
	})
	if may {
		return nil
	}
	e := engine.Refuse(http.StatusForbidden, "Forbidden", "Caller is not authorized to perform action on "+
		"resource.\r\nIf role assignments, deny assignments or role definitions were changed recently, please "+
		"observe propagation time.\r\nCaller: appid=%s;oid=%s;iss=https://sts.windows.net/%s/\r\nAction: "+
		"'Microsoft.KeyVault/vaults/secrets/%s/action'\r\nResource: '%s'\r\nAssignment: (not found)\r\nVault: "+
		"%s",
		managed.Client, c.Principal, c.Server.Options.TenantID, action, value.Lower(c.ID.String()), vault.Parsed.Name())
	return e
}
