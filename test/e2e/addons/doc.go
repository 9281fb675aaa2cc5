// Package addons installs, on a cluster of a local plane, the addons of Windows nodes that no flavor
// contains, by name as a user does, and compares the effects of each with its description.
//
// It has tests only.
package addons
