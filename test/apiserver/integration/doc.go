// Package integration runs casement's manager against a real API server and a local Azure over HTTP, and checks the
// results that a user would see. It contains only tests.
package integration
