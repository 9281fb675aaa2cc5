// Package lint contains only tests: the lint webhook alone with a real API server, and the command
// with malicious input.
package lint
