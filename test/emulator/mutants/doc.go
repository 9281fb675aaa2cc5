// Package mutants runs mutated scripts and documents with every interpreter of a guest, and checks
// that none causes a fault of the simulation: no panic, not even a recovered one. `make fuzz` runs
// many; a plain test runs a few.
package mutants
