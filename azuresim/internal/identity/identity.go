// Package identity is the resource provider Microsoft.ManagedIdentity of the local Azure:
// user-assigned identities and their federated credentials. The token service finds them as
// principals. It imports no other provider; only package azuresim imports it.
package identity

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
)

// New returns the provider Microsoft.ManagedIdentity.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.ManagedIdentity",
		Types: []engine.Type{
			{Name: typeIdentity, Sync: true, Stateless: true, Located: true, Prepare: prepareIdentity,
				Principal: principalOf, Federated: federatedOf},
			{Name: typeFederated, Sync: true, Stateless: true, Located: true, Global: true, Prepare: prepareFederated},
		},
		NotFound: notFound,
	}
}

// notFound returns the error for a federated credential that does not exist; for an
// identity, ARM's own error applies.
func notFound(id engine.ID) *engine.Error {
	if !strings.EqualFold(id.FullType(), typeFederated) {
		return nil
	}
	return engine.Refuse(http.StatusNotFound, "NotFound", "Resource '%s' was not found.", id)
}
