// Package guide has a row for each promise of the guides to Windows clusters that casement implements, in
// words of its own: CAPZ's Windows guide, Cluster API's proposal for Windows workers, and Kubernetes'
// introduction to Windows. A row is run on a local plane, names tests that prove it elsewhere, or says why
// it is refused. Its table is a part of docs/reference/windows-tables.md.
//
// It has tests only.
package guide
