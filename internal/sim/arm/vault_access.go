package arm

import (
	"net/http"
	"slices"
	"strconv"
)

// Roles for the data plane of key vaults.
// Source: https://learn.microsoft.com/azure/key-vault/general/rbac-guide.
const (
	secretsUserRole        = "4633458b-17de-408a-b874-0445c86b69e6"
	secretsOfficerRole     = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
	vaultAdministratorRole = "00482a5a-887f-4fb3-b363-3b7fe8e74483"
)

// mayUseSecret checks the right of a managed identity to a secret of a vault that has
// its rights by roles. Applications and users, and vaults with access policies, are
// not limited here: who may do what is not modelled for them.
func (c *call) mayUseSecret(vault *doc) *Error {
	managed, ok := c.s.principal(func(p Principal) bool { return p.Object == c.principal })
	if !ok {
		return nil
	}
	if rbac, _ := sub(vault.Body, "properties")["enableRbacAuthorization"].(bool); !rbac {
		return nil
	}
	action, able := "setSecret", []string{secretsOfficerRole, vaultAdministratorRole}
	switch c.r.Method {
	case http.MethodGet:
		action, able = "getSecret", append(able, secretsUserRole)
	case http.MethodDelete:
		action = "delete"
	}
	may := false
	c.s.read(func(t *tx) {
		may = slices.ContainsFunc(t.roles(c.principal, c.id), func(role string) bool { return slices.Contains(able, role) })
	})
	if may {
		return nil
	}
	e := refuse(http.StatusForbidden, "Forbidden", "Caller is not authorized to perform action on resource.\r\nIf role assignments, deny assignments or role definitions were changed recently, please observe propagation time.\r\nCaller: appid=%s;oid=%s;iss=https://sts.windows.net/%s/\r\nAction: 'Microsoft.KeyVault/vaults/secrets/%s/action'\r\nResource: '%s'\r\nAssignment: (not found)\r\nVault: %s",
		managed.Client, c.principal, c.s.cfg.TenantID, action, lower(c.id.String()), vault.id.name())
	return e
}

// vaultPort is what stands behind a vault's name in its address: the port that the
// local Azure listens on.
func (s *Server) vaultPort() string {
	if port := s.port.Load(); port != 0 && port != 443 {
		return ":" + strconv.Itoa(int(port))
	}
	return ""
}
