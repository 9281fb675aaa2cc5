// Package powershell parses the PowerShell of image builds, addons and flavors with a third-party
// grammar, tree-sitter-powershell of npm, and with the simulated guests' PowerShell. npm downloads
// the grammar according to a lock file with checksums. If the path of a real PowerShell is given,
// its parser is compared too: guests accept the same scripts, with the same number of commands,
// functions and assignments.
//
// It contains only tests.
package powershell
