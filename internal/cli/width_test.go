package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
)

// TestHelpFits: the list of commands in a help has no line that is too long for a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if n := len("  ") + sub.NamePadding() + len(" ") + len([]rune(sub.Short)); n > 80 && sub.IsAvailableCommand() {
				t.Errorf("%s: %d columns: %s", sub.CommandPath(), n, sub.Short)
			}
			walk(sub)
		}
	}
	walk(newRoot(app.New(app.Streams{}), "casement"))
}
