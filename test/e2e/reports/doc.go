// Package reports runs manifests of public bug reports and questions through lint and
// preflight and compares what they say with the expectation beside each.
// It contains only tests.
package reports
