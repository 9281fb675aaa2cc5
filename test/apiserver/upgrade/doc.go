// Package upgrade runs `casement upgrade plan` against a real API server and applies the manifests that it writes. It
// holds tests only.
package upgrade
