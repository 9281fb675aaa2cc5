// Package loopback runs a whole plane in a network namespace with only the loopback interface, in
// which the kernel counts packets without a route. It contains only a test; no package imports it.
package loopback
