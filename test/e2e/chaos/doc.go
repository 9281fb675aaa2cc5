// Package chaos lets everything that may go wrong on a laptop go wrong while clusters live:
// every kind of process of the plane is killed, stopped and restarted at random moments,
// the local Azure fails up to 30 % of its calls, the disk is full, file descriptors are few,
// and commands come together. After each round the cluster must come to rest with nothing
// orphaned, made twice, stuck or lost. Moments and faults are drawn from a seed.
//
// It holds tests only. test/e2e/crash has twenty moments of its own and stays.
package chaos
