// Package casement is the root of the module. It holds the fences that its tests
// keep, and no code; the programs are in cmd.
package casement
