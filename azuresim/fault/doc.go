// Package fault is the rules by which the local Azure fails on purpose: which
// calls or operations a rule is for, how often it matches and what it does. A
// Set decides; it does nothing itself, knows no HTTP and draws its chances from
// a seed, so that a run can be repeated.
//
// The engine of azuresim asks it; the local plane and the command line may read and
// write rules.
package fault
