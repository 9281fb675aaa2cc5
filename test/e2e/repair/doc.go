// Package repair gives Windows nodes of a local plane each fault that the addon windows-node-repair repairs, and sees that
// the service is back on the same node, how many requests a client lost, and that what cannot be repaired is replaced.
//
// It holds tests only.
package repair
