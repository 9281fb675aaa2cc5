// Package loopback runs a whole plane in a network namespace with only the loopback
// interface, in which the kernel counts packets without a route. It holds a test only;
// nothing imports it.
package loopback
