// Package storage is the resource provider Microsoft.Storage of the local Azure:
// accounts as far as the resource manager knows them. It has no data plane: the
// addresses of an account are of Azure's form and lead nowhere here. It imports no
// other provider; package azuresim alone imports it.
package storage

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
)

// New is Microsoft.Storage.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.Storage",
		Types:     append([]engine.Type{accountType()}, keptTypes()...),
		Routes:    []engine.Route{{Method: http.MethodPost, Path: "checknameavailability", Serve: nameFree}},
	}
}

// keptTypes are the services of an account and what is in them, as far as the resource manager
// knows of them: documents that nothing heeds, as accounts have no data plane here.
func keptTypes() []engine.Type {
	return engine.KeptTypes("Microsoft.Storage", strings.Join([]string{"storageAccounts/blobServices sync",
		"storageAccounts/blobServices/containers sync", "storageAccounts/fileServices sync", "storageAccounts/fileServices/shares sync",
		"storageAccounts/managementPolicies sync"}, "\n"), engine.Type{Style: engine.StyleStorage})
}
