// Package mutants runs mutated scripts and documents of every interpreter of a guest, and checks that none
// of them meets a fault of the simulation: no panic, however well it is contained. `make fuzz` runs many; a
// plain test a few.
package mutants
