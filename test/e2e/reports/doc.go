// Package reports runs manifests of public bug reports and questions through lint and preflight,
// and with -full repeats their users' steps on a local plane. It compares casement's output with
// the expectation that is stored with each manifest. It contains only tests.
package reports
