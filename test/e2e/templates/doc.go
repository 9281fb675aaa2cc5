// Package templates takes third-party cluster templates through a local plane, unchanged and one after the
// other: filled, linted, applied, Ready, scaled up and down, deleted. It prints a table. Casement's
// commands create the resources that a template's users create by hand: a network and an identity for its
// machines.
//
// It has tests only.
package templates
