// Package identity logs in to the local Azure as every kind of AzureClusterIdentity, with a real
// API server that contains the identities, and over HTTPS.
package identity
