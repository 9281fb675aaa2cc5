// Package arm is the local Azure: an emulator of Azure Resource Manager for
// what a self-managed Kubernetes cluster needs. It keeps one JSON document per
// resource, runs long-running operations, refuses what Azure refuses in Azure's
// words, issues tokens, and answers from tables for images, sizes and quota.
//
// It is not a fake of any SDK: it knows no SDK model, keeps properties it does
// not understand, and is spoken to in HTTP only (over TLS through Serve, or in
// process through Do). It runs no machine itself; a Machines does. A resource
// type it does not know is refused and counted, never stored in silence.
//
// The local plane, the command line and tests may import it; the provider
// never does, and it imports nothing of the provider.
package arm
