// Package capz creates the same template with CAPZ's manager and with casement's, each on
// a bare plane of its own, and prints what it cost side by side. CAPZ's programs and the
// files of its release are not of this repository and are handed in: docs/capz.md says
// what they are. No package imports it.
package capz
