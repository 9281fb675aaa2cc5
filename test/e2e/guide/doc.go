// Package guide contains a row for each statement of the guides to Windows clusters that casement
// implements, in other words than theirs: CAPZ's Windows guide, Cluster API's proposal for Windows
// workers, and Kubernetes' introduction to Windows. A row is tested on a local plane, names tests
// that prove it, or contains the reason of its refusal. Its table is a part of
// docs/reference/windows-tables.md.
//
// It contains only tests.
package guide
