// Package capi runs Cluster API's own end-to-end specs, unchanged, against a local plane as an
// existing management cluster: its Go functions from the module sigs.k8s.io/cluster-api/test, with
// the provider's published templates. It prints a table of the specs that passed, failed and were
// not run, with the reason for the last.
//
// It contains only tests, with the build tag e2e like the specs, and is a separate module, so that
// the dependencies of the specs are not casement's.
package capi
