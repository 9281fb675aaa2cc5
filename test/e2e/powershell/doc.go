// Package powershell parses the PowerShell of image builds, addons and flavors with a grammar that
// others wrote, tree-sitter-powershell of npm, beside the PowerShell of simulated guests which runs
// it. The grammar is fetched with npm, by a lock file with checksums. With a PowerShell at hand, its own
// parser judges as well: what it takes, guests take, with as many commands, functions and assignments.
//
// It holds tests only.
package powershell
