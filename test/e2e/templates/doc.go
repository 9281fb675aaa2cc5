// Package templates runs third-party cluster templates on a local plane, unchanged and one after
// another: filled in, linted, applied, Ready, scaled up and down, deleted. It prints a table.
// Casement's commands create the resources that users of a template create manually: a network and
// an identity for its machines.
//
// It contains only tests.
package templates
