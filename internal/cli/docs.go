package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"casement.dev/casement/internal/cli/app"
)

func newDocs(*app.App) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "docs DIR",
		Short: "Write the reference of all commands, as Markdown or man pages",
		Long: `Write a page for each command into a directory, which is made if need be: Markdown,
or man pages of section 1. Their date is SOURCE_DATE_EPOCH, else today.`,
		Example: `  casement docs docs/cli
  casement docs --format man ~/.local/share/man/man1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "markdown" && format != "man" {
				return app.Usagef("--format is markdown or man, not %q", format)
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("write the reference: %w", err)
			}
			root := newRoot(app.New(app.Streams{}), "casement")
			root.InitDefaultCompletionCmd()
			root.DisableAutoGenTag = true
			if format == "man" {
				return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "casement", Manual: "casement"}, args[0])
			}
			return doc.GenMarkdownTree(root, args[0])
		},
	}
	c.Flags().StringVar(&format, "format", "markdown", "markdown or man")
	return c
}
