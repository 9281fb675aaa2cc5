// Package capz creates the same template with CAPZ's manager and with casement's, each on a bare plane of
// its own, and prints the cost side by side. CAPZ's programs and the files of its release are not part of
// this repository and are inputs: docs/capz.md describes them. No package imports it.
package capz
