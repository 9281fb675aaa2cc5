// Package patchday moves the Windows pools of three clusters of a local plane to a new version of a
// gallery's image, as annotations request: canary first, while a client counts lost requests; and
// to failing versions, which stop after the canary.
//
// It contains only tests.
package patchday
