// Package docs embeds the pages of the documentation that explain the output of commands, so that they can
// be read where the files are missing. It contains no code. The command line imports it.
package docs

import "embed"

// Pages are the pages, by their paths below docs.
//
//go:embed troubleshooting.md repair.md windows.md command-line.md lint.md mcp.md reference/diagnosis.md reference/access.md
//go:embed reference/cni.md reference/windows-tables.md gmsa.md upgrade.md
var Pages embed.FS
