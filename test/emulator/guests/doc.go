// Package guests holds simulated guests against the real programs: snippets of shell
// against dash and bash, scripts against PowerShell, and user data against cloud-init and
// cloudbase-init. Stored answers of the programs decide in ordinary tests; make e2e-guests asks the
// programs again. Nothing imports it.
package guests
