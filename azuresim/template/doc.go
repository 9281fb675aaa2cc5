// Package template interprets ARM deployment templates as Azure's own engine does: the language of expressions over the
// values of package datum, functions, lambdas and functions of the template's own; parameters and variables on demand;
// languageVersion 2.0 with symbolic names and types; copies, conditions, existing resources, dependencies and nested
// deployments (Microsoft Learn, "ARM template functions" and "ARM template syntax"). Recorded answers of Azure judge it.
//
// It is pure: what a resource looks like once it is deployed it asks of its caller, or leaves as the text of the expression.
// It deploys nothing, fetches no linked template and refuses what it does not know by name. The local Azure deploys what it
// yields, and the command line prints it: the local Azure and the command line may import it.
package template
