// Package wait contains only tests: it runs `casement wait` with a real API server that ends and
// starts again.
package wait
