// Package addons installs the addons of Windows nodes that no flavor contains on a cluster of a
// local plane, by name as a user does, and compares the effects of each with its description.
//
// It contains only tests.
package addons
