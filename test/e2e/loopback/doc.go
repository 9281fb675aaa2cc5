// Package loopback lets a whole plane live in a network of its own that has loopback alone,
// in which the kernel counts what would leave it. It holds a test only; nothing imports it.
package loopback
