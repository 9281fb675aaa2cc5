// Package terminal runs casement's commands against a real API server whose objects have escape
// sequences in their texts, and checks that none reaches a terminal. It also compares the output of
// commands in a terminal (tmux) of several widths.
//
// It contains only tests.
package terminal
