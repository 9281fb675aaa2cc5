// Package capi runs Cluster API's own end-to-end specs, unchanged, against a local
// plane as an existing management cluster: its Go functions from the module
// sigs.k8s.io/cluster-api/test, with the provider's published templates. It prints a
// table of what passed, failed and was not run, the latter with its reason.
//
// It holds tests only, behind the build tag e2e as the specs are, and is a module of its own: what the specs import is no
// dependency of casement.
package capi
