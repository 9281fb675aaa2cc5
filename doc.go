// Package casement is the root of the module. It contains no code; its tests check rules for the whole module, such as
// which packages may import which. The programs are in cmd.
package casement
