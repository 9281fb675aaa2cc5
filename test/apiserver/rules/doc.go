// Package rules holds tests only: what the lint rules say, beside a real API server.
package rules
