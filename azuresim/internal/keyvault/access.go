package keyvault

import (
	"net/http"
	"slices"
	"strings"

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

// mayUseSecret checks the permission of a managed identity for a secret: by its roles in a vault
// that uses RBAC, otherwise by the vault's access policies. Applications may do everything.
func mayUseSecret(c *engine.Request, vault *engine.Doc) *engine.Error {
	if c.Identity == "" {
		return nil
	}
	managed, _ := c.Server.Principal(func(p engine.Principal) bool { return p.Object == c.Principal })
	if rbac, _ := value.Sub(vault.Body, "properties")["enableRbacAuthorization"].(bool); !rbac {
		return byPolicy(c, vault, managed)
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

// byPolicy checks the access policies of a vault.
// Source: https://learn.microsoft.com/azure/key-vault/general/assign-access-policy.
func byPolicy(c *engine.Request, vault *engine.Doc, managed engine.Principal) *engine.Error {
	permission := "set"
	switch {
	case c.HTTP.Method == http.MethodGet && len(c.ID.Names) < 2:
		permission = "list"
	case c.HTTP.Method == http.MethodGet:
		permission = "get"
	case c.HTTP.Method == http.MethodDelete:
		permission = "delete"
	}
	for _, policy := range value.Items(value.Sub(vault.Body, "properties"), "accessPolicies") {
		if strings.EqualFold(value.Str(policy, "objectId"), c.Principal) &&
			slices.ContainsFunc(value.Texts(value.Sub(policy, "permissions"), "secrets"), func(p string) bool {
				return strings.EqualFold(p, permission) || strings.EqualFold(p, "all")
			}) {
			return nil
		}
	}
	return engine.Refuse(http.StatusForbidden, "Forbidden", "The user, group or application 'appid=%s;oid=%s;"+
		"iss=https://sts.windows.net/%s/' does not have secrets %s permission on key vault '%s;location=%s'. For help resolving "+
		"this issue, please see https://go.microsoft.com/fwlink/?linkid=2125287",
		managed.Client, c.Principal, c.Server.Options.TenantID, permission, vault.Parsed.Name(), vault.Location())
}
