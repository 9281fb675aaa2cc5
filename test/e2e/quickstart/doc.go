// Package quickstart runs the README's commands with the built binaries, as a new user would.
//
// It contains only tests.
package quickstart
