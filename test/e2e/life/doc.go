// Package life takes clusters through the life of a Windows node: it is created, scaled, upgraded to
// another Kubernetes and another Windows, repaired and deleted, as machines and in machine pools. It prints
// the time of each step, its ARM calls, and the requests that a client of a service lost meanwhile.
package life
