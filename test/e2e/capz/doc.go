// Package capz creates clusters from the same template with CAPZ's manager and with casement's,
// each on a separate bare plane, and prints the costs side by side. CAPZ's programs and the files
// of its release are not part of this repository but inputs, which docs/capz.md describes. No
// package imports it.
package capz
