// Package storage is the resource provider Microsoft.Storage of the local Azure: accounts, as far
// as the resource manager knows them. It has no data plane: the endpoints of an account have
// Azure's form and do not exist here. It imports no other provider; only package azuresim imports
// it.
package storage

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
)

// New returns the provider Microsoft.Storage.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.Storage",
		Types:     append([]engine.Type{accountType()}, keptTypes()...),
		Routes:    []engine.Route{{Method: http.MethodPost, Path: "checknameavailability", Serve: nameFree}},
	}
}

// keptTypes returns the types of an account's services and their contents. Their documents have no
// effect, because accounts have no data plane here.
func keptTypes() []engine.Type {
	return engine.KeptTypes("Microsoft.Storage", strings.Join([]string{"storageAccounts/blobServices sync",
		"storageAccounts/blobServices/containers sync", "storageAccounts/fileServices sync", "storageAccounts/fileServices/shares sync",
		"storageAccounts/managementPolicies sync"}, "\n"), engine.Type{Style: engine.StyleStorage})
}
