// Package lint holds tests only: the lint webhook alone beside a real API server, and
// the command with input that means it ill.
package lint
