// Package engine is the part of the local Azure that every resource provider shares: HTTP, resource
// IDs, API versions, documents and transactions, parts inside documents, long-running operations
// and their polls, paging, ETags, throttling, faults, access tokens, the call log and snapshots.
//
// The resource group, which paths name without a provider, is the only resource type that it knows
// itself. All others are rows of the providers' tables. It never imports a provider; package
// azuresim and the providers may import it.
package engine
