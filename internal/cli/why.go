package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
)

func newWhy(a *app) *cobra.Command {
	var t target
	var output, cluster string
	c := &cobra.Command{
		Use:   "why OBJECT",
		Short: "Say what is wrong first with a cluster, machine, node or pod, and what to do",
		Long: `Walk from the owner over bootstrap data, infrastructure, VM, guest and node to the
pod, and print the first thing that is wrong, the evidence, and the next command.
OBJECT is the name of a cluster, machine, machine pool or node, or pod/NAME or
pod/NAMESPACE/NAME of a workload cluster. Windows nodes are looked into over SSH where
nothing outside of them says what is wrong, at most 10 of a cluster. The exit code is 1
when something is wrong. Guests' boot logs are read from the local plane; for a VM in
Azure its conditions have to do.`,
		Example: "  casement why demo\n  casement why demo-md-win-x7k2p\n  casement why pod/iis-6d4f --cluster demo -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			object, err := facts.Find(cmd.Context(), c, t.namespace, cluster, args[0])
			if err != nil {
				return err
			}
			snapshot, err := a.snapshot(cmd.Context(), c, object)
			if err != nil {
				return err
			}
			answer, err := walk.Object(snapshot, object)
			if err != nil {
				return err
			}
			if answer.Healthy || answer.Step == "node" {
				a.lookInside(cmd.Context(), t, snapshot, object)
				if answer, err = walk.Object(snapshot, object); err != nil {
					return err
				}
			}
			if err := a.print(output, answer, func(w *tabwriter.Writer) { writeAnswer(w, answer) }); err != nil {
				return err
			}
			if !answer.Healthy {
				return exitError{ExitFailed}
			}
			return nil
		},
	}
	t.addFlags(c)
	c.Flags().StringVar(&cluster, "cluster", "", "cluster of the pod, where there are several")
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

func writeAnswer(w *tabwriter.Writer, a walk.Answer) {
	if a.Healthy {
		fmt.Fprintf(w, "%s: nothing is wrong\n", a.Object)
		return
	}
	fmt.Fprintf(w, "%s\n", a.Object)
	fmt.Fprintf(w, "  first wrong\t%s (%s)\n", a.At, a.Step)
	row := func(name, text string) {
		for i, line := range wrap(text, 80) {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(w, "  %s\t%s\n", name, line)
		}
	}
	row("cause", a.Cause+": "+a.Says)
	for i, e := range a.Evidence {
		if i == 0 {
			row("evidence", e)
		} else {
			row("", e)
		}
	}
	if a.Fix != "" {
		row("fix", a.Fix)
	}
	if a.Next != "" {
		row("next", a.Next)
	}
}

// wrap breaks text into lines of at most width bytes where words allow it.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
