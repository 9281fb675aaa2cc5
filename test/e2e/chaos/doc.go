// Package chaos causes the failures of a laptop while clusters run: every kind of process of the
// plane is killed, stopped and restarted at random moments, the local Azure fails up to 30 % of its
// calls, the disk is full, file descriptors are few, and commands run concurrently. After each
// round the cluster must settle with no resource orphaned, created twice, stuck or lost. Moments
// and faults are random, from a seed.
//
// It contains only tests. test/e2e/crash tests twenty other moments.
package chaos
