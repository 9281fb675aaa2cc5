// Package template interprets ARM deployment templates as Azure's own engine does: expressions over
// the values of package datum, functions, lambdas and functions that the template defines; lazily
// evaluated parameters and variables; languageVersion 2.0 with symbolic names and types; copies,
// conditions, existing resources, dependencies and nested deployments (Microsoft Learn, "ARM
// template functions" and "ARM template syntax"). Its tests compare it with recorded answers of
// Azure.
//
// It has no side effects: it gets the properties of deployed resources from its caller, or leaves
// the text of the expression. It deploys nothing, fetches no linked template, and refuses unknown
// functions by name. The local Azure, which deploys its results, and the command line, which prints
// them, may import it.
package template
