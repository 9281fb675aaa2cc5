// Package identity is the resource provider Microsoft.ManagedIdentity of the
// local Azure: user-assigned identities and their federated credentials. The
// token service finds them as principals. It imports no other provider; package
// azuresim alone imports it.
package identity

import (
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeIdentity = "Microsoft.ManagedIdentity/userAssignedIdentities"

// New is Microsoft.ManagedIdentity.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.ManagedIdentity",
		Versions:  []string{"2024-11-30", "2023-01-31", "2018-11-30"},
		Types: []engine.Type{
			{Name: typeIdentity, Sync: true, Prepare: prepareIdentity, Principal: principalOf},
			{Name: typeFederated, Sync: true, Global: true, Prepare: prepareFederated},
		},
	}
}

func prepareIdentity(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if old != nil {
		d.Body["properties"] = value.Clone(old.Body["properties"])
		return nil
	}
	p["clientId"], p["principalId"], p["tenantId"] = t.Server.GUID(), t.Server.GUID(), t.Server.Options.TenantID
	return nil
}
