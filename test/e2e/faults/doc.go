// Package faults causes faults in a cluster of a local plane, one after another, and checks
// that `casement why` names the cause of each. It prints the table of faults and answers.
// Only its test runs it.
package faults
