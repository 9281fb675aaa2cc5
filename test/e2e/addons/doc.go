// Package addons installs the addons of Windows nodes that no flavor brings on a cluster of a
// local plane, by name as a user does, and holds each to what it says it does there.
//
// It holds tests only.
package addons
