// Package gmsa takes workloads with a domain identity through a local plane: Windows machines
// that join a simulated domain with a credential from a key vault, pods with a credential
// spec, and what casement why calls each way in which that fails.
package gmsa
