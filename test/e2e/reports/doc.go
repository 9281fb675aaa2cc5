// Package reports runs manifests of public bug reports and questions through lint and preflight, and with -full on a local
// plane through what its users did, and compares what casement says with the expectation beside each.
// It contains only tests.
package reports
