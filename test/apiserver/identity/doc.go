// Package identity logs in to the local Azure as every kind of AzureClusterIdentity,
// with a real API server that holds the identities and HTTPS between the two.
package identity
