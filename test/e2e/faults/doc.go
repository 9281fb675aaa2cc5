// Package faults brings faults upon a cluster of a local plane, one after another,
// and holds `casement why` to the cause of each. It prints the table of faults and
// answers. Only its test runs it.
package faults
