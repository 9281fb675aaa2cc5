// Package template interprets ARM deployment templates: parameters, variables,
// resources with conditions, copies and dependencies, outputs, and the functions
// that az and common templates use (Microsoft Learn, "ARM template functions").
// It is pure: what a resource looks like once it is deployed it asks of its
// caller, and it deploys nothing. Functions of one's own, list* functions of
// resources and linked templates are refused, not guessed.
//
// Package resources deploys what it yields.
package template
