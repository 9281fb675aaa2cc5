// Package patchday takes the Windows pools of three clusters of a local plane to a new version of a gallery's image, as
// annotations ask: canary first, while a client counts the requests that it loses; and to versions that fail, which stop after
// the canary.
//
// It holds tests only.
package patchday
