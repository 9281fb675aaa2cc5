// Package repair injects each fault that the addon windows-node-repair repairs into Windows nodes
// of a local plane. It checks that the service works again on the same node, counts the requests
// that a client lost, and checks that a node that cannot be repaired is replaced.
//
// It contains only tests.
package repair
