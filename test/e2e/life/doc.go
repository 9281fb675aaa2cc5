// Package life takes clusters through what a Windows node lives through: it is made,
// scaled, upgraded to another Kubernetes and another Windows, repaired and deleted, as
// machines and in machine pools. It prints what each step took, what it cost in ARM
// calls, and what a client of a service saw meanwhile.
package life
