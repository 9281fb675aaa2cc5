// Package storage is the resource provider Microsoft.Storage of the local Azure:
// accounts as far as the resource manager knows them. It has no data plane: the
// addresses of an account are of Azure's form and lead nowhere here. It imports no
// other provider; package azuresim alone imports it.
package storage

import (
	"net/http"

	"casement.dev/casement/azuresim/internal/engine"
)

// New is Microsoft.Storage.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.Storage",
		Versions:  []string{"2024-01-01", "2023-05-01", "2023-01-01", "2021-04-01"},
		Types:     []engine.Type{accountType()},
		Routes:    []engine.Route{{Method: http.MethodPost, Path: "checknameavailability", Serve: nameFree}},
	}
}
