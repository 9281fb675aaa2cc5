// Package azuresim is the local Azure: an emulator of Azure Resource Manager for
// what a self-managed Kubernetes cluster needs, to be started in a Go test or a
// program. It keeps one JSON document per resource, runs long-running operations,
// refuses what Azure refuses in Azure's words, issues tokens, and answers from
// tables for images, sizes and quota.
//
// It is not a fake of any SDK: it knows no SDK model, keeps properties it does
// not understand, and is spoken to in HTTP only (over TLS, or in process through
// Do). It runs no machine itself; a Host does. A resource type it does not know is
// refused and counted, never stored in silence.
//
// The local plane, the simulator, the command line and tests may import it; the provider never
// does. It imports nothing of casement outside its own tree but internal/pki, internal/private,
// internal/limit and internal/dotnet, which know no domain.
package azuresim
