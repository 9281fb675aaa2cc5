// Package quickstart runs what the README shows with the built binaries, as a new
// user would.
//
// It holds tests only.
package quickstart
