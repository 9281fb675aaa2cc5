// Package matrix creates a cluster of each kind that casement offers, and from third-party
// templates, and prints the results as a table.
//
// It contains only tests.
package matrix
