// Package integration runs casement's manager against a real API server and an
// Azure on the wire: what a user would see, without a bill.
//
// It holds tests only.
package integration
