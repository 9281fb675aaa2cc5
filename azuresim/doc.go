// Package azuresim is the local Azure: an emulator of Azure Resource Manager for the resources of a
// self-managed Kubernetes cluster, to be started in a Go test or a program. It keeps one JSON
// document per resource, runs long-running operations, refuses requests that Azure refuses, with
// Azure's messages, issues tokens, and answers from tables for images, sizes and quota.
//
// It is not a fake of any SDK: it knows no SDK model, keeps properties that it does not know, and
// its only interface is HTTP (over TLS, or in process through Do). It runs no machine itself; a
// Host does. A resource of an unknown type is refused and counted, never stored in silence.
//
// The local plane, the simulator, the command line and tests may import it; the provider never
// does. Outside its own tree it imports only internal/pki, internal/private, internal/limit and
// internal/dotnet of casement, which know nothing of Azure or Kubernetes.
package azuresim
