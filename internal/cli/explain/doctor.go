package explain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/machine"
	"casement.dev/casement/internal/diagnose/checks"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/inside"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/sshroute"
	"casement.dev/casement/internal/terminal"
)

func NewDoctor(a *app.App) *cobra.Command {
	var t app.Target
	var output string
	var fix bool
	c := &cobra.Command{
		Use:   "doctor [CLUSTER|POOL|NODE]",
		Short: "Look for the known failure patterns of Windows nodes",
		Long: `Run every check over a cluster, or show what concerns one of its pools, machines or
nodes: symptom, evidence, cause and fix. Windows nodes are looked into over SSH, the
one that is named or at most 10 of a cluster, those that are not Ready first. A check
whose evidence was not seen is listed as NotExamined, with the command to run on the
node. --fix runs on the nodes what repairs them and does no other harm, such as to start
a service or to give an adapter its MTU, says so, and looks again; a node is drained first
where that breaks connections, as a restart of HNS does. Without it nothing is changed.
Of one machine, names that are taken twice are not seen. Without a name, the only
cluster of the namespace is looked at. The exit code is 1 when a check fails. Output
wide shows the checks that passed too.`,
		Example: "  casement doctor demo\n  casement doctor demo -o wide\n  casement doctor demo-md-w-x7k2p --fix",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			object, err := Patient(cmd.Context(), c, t.Namespace, args)
			if err != nil {
				return err
			}
			results, err := Examine(cmd.Context(), a, t, c, object)
			if err != nil {
				return err
			}
			if fix && remedy(cmd.Context(), a, t, c, results) {
				if results, err = Examine(cmd.Context(), a, t, c, object); err != nil {
					return err
				}
			}
			if err := a.Print(output, results, func(w io.Writer) {
				writeResults(w, results, output == "wide", a.Room(resultWidth, resultAt))
			}); err != nil {
				return err
			}
			if slices.ContainsFunc(results, func(r checks.Result) bool { return r.Verdict == checks.Failed }) {
				return app.ExitError{Code: app.ExitFailed}
			}
			return nil
		},
	}
	t.AddFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table, wide, name, json or yaml")
	c.Flags().BoolVar(&fix, "fix", false, "run on the nodes what repairs them and does no other harm")
	return c
}

// Patient returns the object that doctor examines.
func Patient(ctx context.Context, c client.Client, namespace string, args []string) (facts.Object, error) {
	if len(args) == 0 {
		only, err := facts.Only(ctx, c, namespace)
		if err != nil {
			return only, fmt.Errorf("%w; name one, or another namespace: casement get clusters", err)
		}
		return only, nil
	}
	object, err := facts.Find(ctx, c, namespace, "", args[0])
	if kinds := []string{"Cluster", "MachinePool", "Machine"}; err == nil && !slices.Contains(kinds, object.Kind) {
		return object, app.Usagef("doctor takes a cluster, machine pool, machine or node, and %s is a %s: casement "+
			"why %[1]s", args[0], object.Kind)
	}
	return object, err
}

// Examine reads the facts about an object and runs the checks.
func Examine(ctx context.Context, a *app.App, t app.Target, c client.Client, object facts.Object) ([]checks.Result, error) {
	snapshot, err := Snapshot(ctx, a, c, object)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(walk.All(snapshot), func(known walk.Answer) bool { return walk.AsksAzure(known.Means.Cause) }) {
		azureSide(ctx, a, t, snapshot)
	}
	lookInside(ctx, a, t, snapshot, object)
	return checks.Object(snapshot, object), nil
}

// remedy runs the remedies of the findings on their nodes and reports whether there were any.
func remedy(ctx context.Context, a *app.App, t app.Target, c client.Client, results []checks.Result) bool {
	remedies := checks.Remedies(results)
	for _, r := range remedies {
		route, err := sshroute.Find(ctx, c, t.Namespace, r.Node, "")
		if err == nil {
			err = repaired(ctx, a, t, c, route, r)
		}
		if err != nil {
			fmt.Fprintf(a.Err, "%s: %s: not repaired: %v\n", r.Check, r.Node, err)
			continue
		}
		fmt.Fprintf(a.Err, "%s: %s: ran %s\n", r.Check, r.Node, r.Script)
	}
	return len(remedies) > 0
}

// maxFindings is the number of findings that a table shows for one check.
const maxFindings = 10

// remedyOn runs a remedy on a machine.
func remedyOn(ctx context.Context, a *app.App, t app.Target, r sshroute.Route, remedy string) error {
	in, err := machine.Connect(ctx, a, machine.Way{Target: t, User: sshroute.User}, r)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = inside.PowerShell(ctx, in, remedy)
	return err
}

// resultWidth is the maximum width of a result's texts, resultAt the column in which they begin.
const resultWidth, resultAt = 72, 18

// writeResults writes results with their texts wrapped to a width.
func writeResults(w io.Writer, results []checks.Result, wide bool, width int) {
	count := map[checks.Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		if r.Verdict != checks.Failed {
			if wide {
				fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Verdict, strings.Join(terminal.Wrap(r.Symptom+"  "+r.Look, width), "\n\t\t"))
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Verdict, strings.Join(terminal.Wrap(r.Symptom, width), "\n\t\t"))
		fmt.Fprintf(w, "\t  cause\t%s\n\t  fix\t%s\n", strings.Join(terminal.Wrap(r.Cause, width), "\n\t\t"),
			strings.Join(terminal.Wrap(r.Fix, width), "\n\t\t"))
		shown := r.Findings
		if !wide {
			shown = shown[:min(maxFindings, len(shown))]
		}
		for _, f := range shown {
			fmt.Fprintf(w, "\t  at\t%s\n", f.At)
			for _, own := range []string{f.Cause, f.Fix} {
				if own != "" {
					fmt.Fprintf(w, "\t\t%s\n", strings.Join(terminal.Wrap(own, width), "\n\t\t"))
				}
			}
			for _, e := range f.Evidence {
				fmt.Fprintf(w, "\t\t%s\n", strings.Join(terminal.Wrap(e, width), "\n\t\t"))
			}
		}
		if more := len(r.Findings) - len(shown); more > 0 {
			fmt.Fprintf(w, "\t  at\t%d more; -o wide shows them\n", more)
		}
	}
	fmt.Fprintf(w, "%d failed, %d passed, %d not examined\n", count[checks.Failed], count[checks.Passed], count[checks.NotExamined])
}
