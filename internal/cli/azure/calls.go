package azure

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
)

func NewCalls(a *app.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "calls",
		Short: "Show the ARM calls that the local Azure received, by kind",
		Example: `  casement calls
  casement calls -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			calls, err := ReadCalls(cmd.Context(), plane.NewClient(a.Dir))
			if err != nil {
				return err
			}
			return a.Print(output, calls, func(w io.Writer) { callTable(w, calls) })
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

func ReadCalls(ctx context.Context, c *plane.Client) (plane.Calls, error) {
	var calls plane.Calls
	raw, err := c.Calls(ctx)
	if err != nil {
		return calls, err
	}
	return calls, json.Unmarshal(raw, &calls)
}

func callTable(w io.Writer, calls plane.Calls) {
	fmt.Fprintln(w, "VERB\tRESOURCE TYPE\tSTATUS\tCALLER\tCALLS")
	for _, c := range calls.Counters {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\n", c.Verb, c.Type, c.Status, c.Caller, c.Count)
	}
	fmt.Fprintf(w, "\nreads %d\twrites %d\tdeletes %d\tpolls %d\tthrottled %d\n", calls.Reads, calls.Writes,
		calls.Deletes, calls.Polls, calls.Throttled)
}
