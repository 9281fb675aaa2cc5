// Package guests compares simulated guests with the real programs: snippets of shell with dash and
// bash, scripts with PowerShell, and user data with cloud-init and cloudbase-init. Ordinary tests
// compare with stored answers of the programs; make e2e-guests runs the programs again. No package
// imports it.
package guests
