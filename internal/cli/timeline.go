package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/timeline"
)

// barWidth is the room that bars have at most, barAt where they begin.
const barWidth, barAt = 40, 44

func newTimeline(a *app) *cobra.Command {
	var t target
	var output string
	c := &cobra.Command{
		Use:   "timeline MACHINE|NODE",
		Short: "Show where the time of a machine's boot went",
		Long: `Show when a machine was requested, its bootstrap data rendered, its VM provisioned,
its node registered and ready, and its first pod ready, by the times that the objects
record, in whole seconds. What left no time is listed as missing. Commands of the
bootstrap data that failed or had no effect are listed after the stages.`,
		Example: "  casement timeline demo-md-win-x7k2p\n  casement timeline demo-md-win-x7k2p -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			object, err := facts.Find(cmd.Context(), c, t.namespace, "", args[0])
			if err != nil {
				return err
			}
			if object.Kind != "Machine" {
				return usagef("timeline takes a machine or node, and %s is a %s", args[0], strings.ToLower(object.Kind))
			}
			snapshot, err := facts.Machine(cmd.Context(), c, object.Cluster, object.Name)
			if err != nil {
				return err
			}
			a.consoles(cmd.Context(), snapshot)
			for i := range snapshot.Machines {
				if snapshot.Machines[i].Name == object.Name {
					line := timeline.Of(snapshot, &snapshot.Machines[i])
					return a.print(output, line, func(w io.Writer) { writeTimeline(w, line, a.room(barWidth, barAt)) })
				}
			}
			return fmt.Errorf("machine %s is gone", object.Name)
		},
	}
	t.addFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

func writeTimeline(w io.Writer, t timeline.Timeline, width int) {
	fmt.Fprintln(w, "STAGE\tAFTER\tTOOK\t")
	for i, s := range t.Stages {
		fmt.Fprintf(w, "%s\t%.0fs\t%.0fs\t%s\n", s.Name, s.After, s.Took, t.Bar(i, width))
	}
	for _, name := range t.Missing {
		fmt.Fprintf(w, "%s\t-\t-\t\n", name)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(w, "in its boot: %s\n", note)
	}
}
