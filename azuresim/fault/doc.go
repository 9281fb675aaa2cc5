// Package fault contains the rules by which the local Azure fails on purpose: which calls or
// operations a rule selects, how often it matches and what it does. A Set only decides: it does
// nothing itself, knows no HTTP, and makes its random choices from a seed, so that a run can be
// repeated.
//
// The engine of azuresim queries the Set; the local plane and the command line may read and write
// rules.
package fault
