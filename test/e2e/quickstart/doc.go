// Package quickstart runs the README's commands with the built binaries, as a new
// user would.
//
// It holds tests only.
package quickstart
