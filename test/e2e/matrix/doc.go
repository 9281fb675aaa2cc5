// Package matrix brings up a cluster of each kind that casement offers, and of
// templates that others wrote, and prints the results as a table.
//
// It holds tests only.
package matrix
