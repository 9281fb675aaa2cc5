// Package repair injects each fault that the addon windows-node-repair repairs into Windows nodes of a
// local plane. It checks that the service is back on the same node, how many requests a client lost, and
// that a node that cannot be repaired is replaced.
//
// It has tests only.
package repair
