// Package terminal runs casement's commands against a real API server whose objects
// have escape sequences in their texts, and checks that none reaches a terminal; and it
// holds what commands show in a terminal of several widths, which tmux is.
//
// It holds tests only.
package terminal
