// Package rules compares the findings of the lint rules with a real API server. It has tests only.
package rules
