// Package hostile boots machines whose custom data would exhaust a computer, each alone in a local Azure of
// its own: it measures the memory and processor time of the process, how soon a stop and a delete end the
// guest, and that a restart leaves no trace of it.
//
// It has tests only.
package hostile
