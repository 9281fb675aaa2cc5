// Package hostile boots machines whose custom data would use a computer up, each alone in a
// local Azure of its own life: it measures what the process takes, how soon a stop and a delete
// end the guest, and that a restart is as if nothing had been.
//
// It holds tests only.
package hostile
