// Package capi runs Cluster API's own end-to-end specs, unchanged, against a local plane as an existing
// management cluster: its Go functions from the module sigs.k8s.io/cluster-api/test, with the provider's
// published templates. It prints a table of the specs that passed, failed and were not run, the latter with
// the reason.
//
// It has tests only, behind the build tag e2e as the specs have, and is a module of its own, so that the
// dependencies of the specs are not casement's.
package capi
