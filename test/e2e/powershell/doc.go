// Package powershell parses the PowerShell of image builds, addons and flavors with a third party's
// grammar, tree-sitter-powershell of npm, and with the PowerShell of simulated guests that runs it. The
// grammar is fetched with npm, by a lock file with checksums. If a real PowerShell is given, its parser is
// compared as well: guests accept the same scripts, with the same number of commands, functions and
// assignments.
//
// It has tests only.
package powershell
