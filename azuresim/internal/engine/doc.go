// Package engine is the part of the local Azure that every resource provider
// shares: HTTP, resource IDs, API versions, documents and transactions, parts
// inside documents, long-running operations and their polls, paging, ETags,
// throttling, faults, access tokens, the call log and snapshots.
//
// It knows no resource type but the resource group, which paths name without a
// provider. Everything else it learns from the rows of the providers' tables. It
// never imports a provider; package azuresim and the providers may import it.
package engine
