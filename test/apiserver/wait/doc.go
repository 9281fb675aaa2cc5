// Package wait runs `casement wait` beside a real API server that ends and starts again. It holds tests only.
package wait
