// Package hostile boots machines whose custom data would exhaust a computer, each in a separate
// local Azure: it measures the memory and processor time of the process and the time in which a
// stop and a delete end the guest, and checks that a restart leaves no trace of the guest.
//
// It contains only tests.
package hostile
