package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/doctor"
	"casement.dev/casement/internal/gather"
)

func newDoctor(a *app) *cobra.Command {
	var t target
	var output string
	c := &cobra.Command{
		Use:   "doctor CLUSTER|NODE",
		Short: "Look for the known failure patterns of Windows nodes",
		Long: `Run every check over a cluster, or show what concerns one of its machines or nodes:
symptom, evidence, cause and fix. A check whose evidence lies inside the node is
listed as NotExamined, with the command to run there. It changes nothing. The exit
code is 1 when a check fails. Output wide shows the checks that passed too.`,
		Example: "  casement doctor demo\n  casement doctor demo -o wide\n  casement doctor demo-md-w-x7k2p -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			object, err := gather.Find(cmd.Context(), c, t.namespace, "", args[0])
			if err != nil {
				return err
			}
			facts, err := a.facts(cmd.Context(), c, object.Cluster)
			if err != nil {
				return err
			}
			var keep func(string) bool
			if object.Kind == "Machine" {
				keep = facts.Concerns(object.Name)
			}
			if object.Kind == "MachinePool" {
				keep = facts.ConcernsPool(object.Name)
			}
			results := doctor.Examine(facts, keep)
			if err := a.print(output, results, func(w *tabwriter.Writer) { writeResults(w, results, output == "wide") }); err != nil {
				return err
			}
			for _, r := range results {
				if r.Verdict == doctor.Failed {
					return exitError{ExitFailed}
				}
			}
			return nil
		},
	}
	t.addFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table, wide, json or yaml")
	return c
}

func writeResults(w *tabwriter.Writer, results []doctor.Result, wide bool) {
	count := map[doctor.Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		if r.Verdict != doctor.Failed {
			if wide {
				fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Verdict, strings.Join(wrap(r.Symptom+"  "+r.Look, 72), "\n\t\t"))
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Verdict, strings.Join(wrap(r.Symptom, 72), "\n\t\t"))
		fmt.Fprintf(w, "\t  cause\t%s\n\t  fix\t%s\n", strings.Join(wrap(r.Cause, 72), "\n\t\t"), strings.Join(wrap(r.Fix, 72), "\n\t\t"))
		for _, f := range r.Findings {
			fmt.Fprintf(w, "\t  at\t%s\n", f.At)
			for _, e := range f.Evidence {
				fmt.Fprintf(w, "\t\t%s\n", strings.Join(wrap(e, 72), "\n\t\t"))
			}
		}
	}
	fmt.Fprintf(w, "%d failed, %d passed, %d not examined\n", count[doctor.Failed], count[doctor.Passed], count[doctor.NotExamined])
}
