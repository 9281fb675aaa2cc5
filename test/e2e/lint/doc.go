// Package lint holds tests only: the lint webhook alone beside a real API server, and the command with malicious input.
package lint
