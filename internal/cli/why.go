package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/terminal"
)

func newWhy(a *app) *cobra.Command {
	var t target
	var output, cluster string
	c := &cobra.Command{
		Use:   "why OBJECT",
		Short: "Say what is wrong first with a cluster, machine, node or workload, and what to do",
		Long: `Walk from the owner over templates, bootstrap data, infrastructure, VM, guest and node to
the workload, and print the first thing that is wrong, the evidence, and the next command.
OBJECT is the name of a cluster, machine, machine pool or node; KIND/NAME of a machine
deployment (md), machine set (ms), machine pool (mp) or control plane (kcp); or, of a
workload cluster, KIND/NAME or KIND/NAMESPACE/NAME of a pod, deployment, replicaset,
statefulset, daemonset, job, service or pvc. NAMESPACE/NAME is a pod. Windows nodes are
looked into over SSH where nothing outside of them says what is wrong, at most 10 of a
cluster. Guests' boot logs are read from the local plane; for a VM in Azure its
conditions have to do. What was not or could not be examined is listed.

The exit code is 1 when something is wrong. What is on its way, such as a machine that
boots, waits and is not wrong, until it takes longer than it should.`,
		Example: "  casement why demo\n  casement why demo-md-win-x7k2p\n  casement why md/demo-md-win\n  casement why service/shop/iis --cluster demo\n  casement why pod/iis-6d4f --cluster demo -o json",
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
			if answer.Cause == "NoRouteToAPI" {
				a.rulesOf(cmd.Context(), t, snapshot)
				if answer, err = walk.Object(snapshot, object); err != nil {
					return err
				}
			}
			if answer.Healthy || answer.Waiting || answer.Step == "node" {
				a.lookInside(cmd.Context(), t, snapshot, object)
				if answer, err = walk.Object(snapshot, object); err != nil {
					return err
				}
			}
			if err := a.print(output, answer, func(w *tabwriter.Writer) {
				writeAnswer(w, answer, max(leastDetail, a.width(answerWidth)-len("  not examined  ")-1))
			}); err != nil {
				return err
			}
			if !answer.Healthy && !answer.Waiting {
				return exitError{ExitFailed}
			}
			return nil
		},
	}
	t.addFlags(c)
	c.Flags().StringVar(&cluster, "cluster", "", "cluster of the pod or other workload, where there are several")
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

// answerWidth is that of an answer's lines where there is no terminal.
const answerWidth = 96

// writeAnswer writes an answer with texts of a width.
func writeAnswer(w *tabwriter.Writer, a walk.Answer, width int) {
	row := func(name, text string) {
		for i, line := range terminal.Wrap(text, width) {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(w, "  %s\t%s\n", name, line)
		}
	}
	rows := func(name string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				row(name, text)
				name = ""
			}
		}
	}
	switch {
	case a.Healthy && len(a.NotExamined) == 0:
		fmt.Fprintf(w, "%s: nothing is wrong\n", a.Object)
		return
	case a.Healthy:
		fmt.Fprintf(w, "%s: nothing is wrong with what was examined\n", a.Object)
	case a.Waiting:
		fmt.Fprintf(w, "%s: nothing is wrong so far\n  waits\t%s (%s)\n", a.Object, a.At, a.Step)
		row("for", a.Cause+": "+a.Says)
	default:
		fmt.Fprintf(w, "%s\n  first wrong\t%s (%s)\n", a.Object, a.At, a.Step)
		row("cause", a.Cause+": "+a.Says)
	}
	rows("evidence", a.Evidence...)
	rows("fix", a.Fix)
	rows("next", a.Next)
	rows("not examined", a.NotExamined...)
}
