// Package gmsa tests workloads with a domain identity on a local plane: Windows machines that join a
// simulated domain with a credential from a key vault, pods with a credential spec, and the diagnosis of
// casement why for each way in which that fails.
package gmsa
