// Package templates takes cluster templates that others wrote through a local plane,
// unchanged and one after the other: filled, linted, applied, Ready, scaled up and
// down, deleted. It prints a table. What a template's users install by hand, a network
// and an identity for its machines, is made by the commands that casement has for it.
//
// It holds tests only.
package templates
