package explain

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/timeline"
)

// barWidth is the maximum width of bars, and barAt the column in which they begin.
const barWidth, barAt = 40, 44

func NewTimeline(a *app.App) *cobra.Command {
	var t app.Target
	var output, svg string
	var fleet bool
	c := &cobra.Command{
		Use:   "timeline MACHINE|NODE|CLUSTER",
		Short: "Show where the time of a machine's boot went",
		Long: `Show when a machine was requested, its bootstrap data rendered, its VM provisioned,
its node registered and ready, and its first pod ready, by the times that the objects
record, in whole seconds. What left no time is listed as missing. Commands of the
bootstrap data that failed or had no effect are listed after the stages.

With --fleet it takes a cluster and shows each stage over all of its machines, with what
would make Windows machines start faster. The seconds are the difference between machines
of the cluster with and without it; where all lack it, they are the length of the stages
that it concerns, of which it saves a part. --svg draws the machines as bars.`,
		Example: `  casement timeline demo-md-win-x7k2p
  casement timeline demo-md-win-x7k2p -o json
  casement timeline --fleet demo --svg demo.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if svg != "" && !fleet {
				return app.Usagef("--svg draws a fleet: give --fleet and a cluster")
			}
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			if fleet {
				snapshot, err := facts.Cluster(cmd.Context(), c, client.ObjectKey{Namespace: t.Namespace, Name: args[0]})
				if err != nil {
					return err
				}
				return printFleet(a, timeline.OfFleet(snapshot), output, svg)
			}
			line, err := Timeline(cmd.Context(), a, c, t.Namespace, args[0])
			if err != nil {
				return err
			}
			return a.Print(output, line, func(w io.Writer) { writeTimeline(w, line, a.Room(barWidth, barAt)) })
		},
	}
	t.AddFlags(c)
	c.Flags().BoolVar(&fleet, "fleet", false, "show all machines of a cluster together, and what would make them start faster")
	c.Flags().StringVar(&svg, "svg", "", "with --fleet, write a drawing to this file")
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

// Timeline returns the timeline of a machine or node.
func Timeline(ctx context.Context, a *app.App, c client.Client, namespace, name string) (timeline.Timeline, error) {
	object, err := facts.Find(ctx, c, namespace, "", name)
	if err != nil {
		return timeline.Timeline{}, err
	}
	if object.Kind != "Machine" {
		return timeline.Timeline{}, app.Usagef("timeline takes a machine or node, and %s is a %s", name, strings.ToLower(object.Kind))
	}
	snapshot, err := facts.Machine(ctx, c, object.Cluster, object.Name)
	if err != nil {
		return timeline.Timeline{}, err
	}
	consoles(ctx, a, snapshot)
	for i := range snapshot.Machines {
		if snapshot.Machines[i].Name == object.Name {
			return timeline.Of(snapshot, &snapshot.Machines[i]), nil
		}
	}
	return timeline.Timeline{}, fmt.Errorf("machine %s is gone", object.Name)
}

func printFleet(a *app.App, f timeline.Fleet, output, svg string) error {
	if svg != "" {
		if err := os.WriteFile(svg, f.SVG(), 0o644); err != nil {
			return err
		}
	}
	return a.Print(output, f, func(w io.Writer) {
		fmt.Fprintln(w, "STAGE\tMACHINES\tMEDIAN\tSLOWEST\tBY")
		for _, s := range f.Stages {
			fmt.Fprintf(w, "%s\t%d\t%.0fs\t%.0fs\t%s\n", s.Name, s.Machines, s.Median, s.Slowest, s.By)
		}
		for _, advice := range f.Advice {
			fmt.Fprintln(w, advice.Text())
		}
	})
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
