// Package rules contains only tests: it compares the findings of the lint rules with a real API
// server.
package rules
