package azure

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
)

func newAzureFaults(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "faults",
		Short: "Let the local Azure fail on purpose: add, list and clear rules",
		Example: `  casement azure faults add throttle --type '*/virtualMachines' --verb PUT --count 3
  casement azure faults list
  casement azure faults clear`,
	}
	c.AddCommand(newFaultsAdd(a), newFaultsGuest(a), newFaultsList(a), newFaultsClear(a))
	return c
}

func newFaultsAdd(a *app.App) *cobra.Command {
	var r fault.Rule
	var delay time.Duration
	var kinds strings.Builder
	for _, k := range fault.Kinds() {
		fmt.Fprintf(&kinds, "  %-13s %s\n", k[0], k[1])
	}
	c := &cobra.Command{
		Use:   "add KIND",
		Short: "Add a fault rule",
		Long:  "Add a rule by which the local Azure fails. Patterns may have *; case does not matter.\nKINDs are:\n" + kinds.String(),
		Example: `  casement azure faults add throttle --verb PUT --count 3 --retry-after 2
  casement azure faults add operation --type '*/virtualMachines' --name 'demo-md-*' --code AllocationFailed
  casement azure faults add slow-boot --delay 90s --probability 0.2
  casement azure faults add guest --guest-fault disk-full --name 'win-*'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Kind = fault.Kind(args[0])
			if delay > 0 {
				r.Delay = delay.String()
			}
			if err := r.Validate(); err != nil {
				return app.Usagef("%w", err)
			}
			added, err := plane.NewClient(a.Dir).AddFault(cmd.Context(), r)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "Fault %s is in force.\n", added.ID)
			return nil
		},
	}
	f := c.Flags()
	f.StringSliceVar(&r.Verbs, "verb", nil, "HTTP methods that it is for")
	f.StringVar(&r.Type, "type", "", "pattern of resource types, as in '*/virtualMachines'")
	f.StringVar(&r.Group, "resource-group", "", "pattern of resource groups")
	f.StringVar(&r.Name, "name", "", "pattern of resource names")
	f.IntVar(&r.After, "after", 0, "let this many calls pass first")
	f.IntVar(&r.Count, "count", 0, "apply this often and no more (0: without end)")
	f.Float64Var(&r.Probability, "probability", 0, "chance of each call, from 0 to 1 (0: always)")
	f.Uint64Var(&r.Seed, "seed", 0, "makes the chances repeatable")
	f.IntVar(&r.Status, "status", 0, "HTTP status in the place of the kind's")
	f.StringVar(&r.Code, "code", "", "error code in the place of the kind's")
	f.StringVar(&r.Message, "message", "", "error message in the place of the kind's")
	f.IntVar(&r.RetryAfter, "retry-after", 0, "Retry-After, in seconds")
	f.DurationVar(&delay, "delay", 0, "delay of slow-boot and eviction")
	f.StringVar(&r.GuestFault, "guest-fault", "", "what the guest has, for guest")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "ailment" { // its former name
			name = "guest-fault"
		}
		return pflag.NormalizedName(name)
	})
	return c
}

func newFaultsList(a *app.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the fault rules in force and how often each matched",
		Example: "  casement azure faults list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules, err := plane.NewClient(a.Dir).Faults(cmd.Context())
			if err != nil {
				return err
			}
			return a.Print(output, rules, func(w io.Writer) {
				fmt.Fprintln(w, "ID\tKIND\tFOR\tSEEN\tMATCHED\tLEFT")
				for _, r := range rules {
					left := "no end"
					if r.Count > 0 {
						left = strconv.Itoa(r.Count - r.Matched)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", r.ID, r.Kind, faultScope(r), r.Seen, r.Matched, left)
				}
			})
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "table", "table, name, json or yaml")
	return c
}

// faultScope summarizes the requests that a fault rule applies to.
func faultScope(r fault.Rule) string {
	var out []string
	for _, p := range []string{strings.Join(r.Verbs, ","), r.Type, r.Group, r.Name} {
		if p != "" {
			out = append(out, p)
		}
	}
	if r.GuestFault != "" {
		out = append(out, "("+r.GuestFault+")")
	}
	if len(out) == 0 {
		return "everything"
	}
	return strings.Join(out, " ")
}

func newFaultsClear(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "clear [ID...]",
		Short:   "Remove fault rules, all when none is named",
		Example: "  casement azure faults clear\n  casement azure faults clear 2 3",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := plane.NewClient(a.Dir).ClearFaults(cmd.Context(), args...); err != nil {
				return err
			}
			if len(args) == 0 {
				fmt.Fprintln(a.Out, "No fault rule is in force any more.")
				return nil
			}
			fmt.Fprintf(a.Out, "Fault rules removed: %s.\n", strings.Join(args, ", "))
			return nil
		},
	}
}
