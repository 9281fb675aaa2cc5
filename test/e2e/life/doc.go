// Package life takes clusters through the life of a Windows node: nodes are created, scaled,
// upgraded to another Kubernetes and another Windows version, repaired and deleted, as machines and
// in machine pools. It prints the duration of each step, its ARM calls, and the requests that a
// client of a service lost meanwhile.
package life
