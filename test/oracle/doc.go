// Package oracle holds a test that compares lint rules with a real API server.
package oracle
