// Package reports runs manifests of public bug reports and questions through lint and preflight, and with
// -full repeats their users' steps on a local plane, and compares casement's output with the expectation
// beside each. It has only tests.
package reports
