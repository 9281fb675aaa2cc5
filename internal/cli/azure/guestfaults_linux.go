//go:build !client

package azure

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/sim/host"
)

func newFaultsGuest(a *app.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "guest-faults",
		Aliases: []string{"ailments"}, // its former name
		Short:   "List what a guest can be made to have",
		Long: `List the faults of guests, for 'faults add guest --guest-fault'. Those of the first
boot come upon machines that boot after the rule was added, and stay; the others come
upon running machines at once, and go when the rule is cleared.`,
		Example: "  casement azure faults guest-faults",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all := host.GuestFaults()
			return a.Print(output, all, func(w io.Writer) {
				fmt.Fprintln(w, "FAULT\tSYSTEM\tCOMES\tWHAT IS WRONG")
				for _, l := range all {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Name, l.OS, l.When, l.Does)
				}
			})
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "table", "table, name, json or yaml")
	return c
}

// GuestFaultNames returns the values of --guest-fault.
func GuestFaultNames() []string {
	return app.Names(host.GuestFaults(), func(f host.GuestFault) string { return f.Name })
}
