// Package upgrade contains only tests: it runs `casement upgrade plan` against a real API server
// and applies the manifests that the command writes.
package upgrade
