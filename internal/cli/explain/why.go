// Package explain has the commands for a cluster that fails: why, doctor, tree, timeline, drift, support.
//
// It only calls internal/diagnose, which finds the causes. Only internal/cli may import it.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/terminal"
)

func NewWhy(a *app.App) *cobra.Command {
	var t app.Target
	var output, cluster string
	c := &cobra.Command{
		Use:   "why [OBJECT]",
		Short: "Say what is wrong first with an object, and what to do",
		Long: `Walk from the owner over templates, bootstrap data, infrastructure, VM, guest and node to
the workload, and print the first thing that is wrong, the evidence, and the next command.
OBJECT is the name of a cluster, machine, machine pool or node; KIND/NAME of a machine
deployment (md), machine set (ms), machine pool (mp) or control plane (kcp); or, of a
workload cluster, KIND/NAME or KIND/NAMESPACE/NAME of a pod, deployment, replicaset,
statefulset, daemonset, job, service, pvc, ingress, hpa, cronjob or any other kind that the
cluster has; of the management cluster any kind of Cluster API too. NAMESPACE/NAME is a pod.
Without OBJECT it is the cluster of --cluster, or the namespace's only one.
Windows nodes are looked into over SSH where nothing outside of them says what is wrong, at
most 10 of a cluster. Guests' boot logs are read from the local plane; for a VM in Azure its
conditions have to do. What was not or could not be examined is listed.

The exit code is 1 when something is wrong. What is on its way, such as a machine that
boots, waits and is not wrong, until it takes longer than it should.`,
		Example: "  casement why demo\n  casement why demo-md-win-x7k2p\n  casement why md/demo-md-win\n" +
			"  casement why service/shop/iis --cluster demo\n" +
			"  casement why pod/iis-6d4f --cluster demo -o json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			object, err := namedObject(cmd.Context(), c, t.Namespace, cluster, args)
			if len(args) == 0 && errors.Is(err, facts.ErrNoCluster) { // a new management cluster without clusters is no fault
				none := walk.Answer{Object: "no cluster", Healthy: true, NotExamined: []string{err.Error()}}
				return a.Print(output, none, func(w io.Writer) { writeAnswer(w, none, a.Room(answerWidth, answerAt)) })
			}
			if err != nil {
				return err
			}
			answer, err := Answer(cmd.Context(), a, t, c, object)
			if err != nil {
				return err
			}
			if err := a.Print(output, answer, func(w io.Writer) {
				writeAnswer(w, answer.Redacted(a.Suited), a.Room(answerWidth, answerAt))
			}); err != nil {
				return err
			}
			if !answer.Healthy && !answer.Waiting {
				return app.ExitError{Code: app.ExitFailed}
			}
			return nil
		},
	}
	t.AddFlags(c)
	c.Flags().StringVar(&cluster, "cluster", "", "cluster of the pod or other workload, where there are several")
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

// namedObject returns the object that the arguments name; without an argument, the cluster of the flag or the only cluster in
// the namespace.
func namedObject(ctx context.Context, c client.Client, namespace, cluster string, args []string) (facts.Object, error) {
	if len(args) > 0 {
		return facts.Find(ctx, c, namespace, cluster, args[0])
	}
	if cluster != "" {
		args = []string{cluster}
	}
	return Patient(ctx, c, namespace, args)
}

// shortProbe is the time limit for probes of nodes if the answer is that a step is in progress.
const shortProbe = 1500 * time.Millisecond

// Answer finds the first fault of an object, and probes nodes if the objects alone do not explain it.
func Answer(ctx context.Context, a *app.App, t app.Target, c client.Client, object facts.Object) (walk.Answer, error) {
	snapshot, answer, err := Judged(ctx, a, t, c, object)
	if err != nil {
		return walk.Answer{}, err
	}
	if answer.Healthy || answer.Waiting || answer.Step == "node" {
		if answer.Waiting && answer.Step != "node" { // while machines boot, probes may not get enough processor time
			short, cancel := context.WithTimeout(ctx, shortProbe)
			defer cancel()
			ctx = short
		}
		lookInside(ctx, a, t, snapshot, object)
		return walk.Object(snapshot, object)
	}
	return answer, nil
}

// Judged finds the first fault of an object from objects, boot logs and Azure.
func Judged(ctx context.Context, a *app.App, t app.Target, c client.Client, object facts.Object) (*facts.Snapshot, walk.Answer, error) {
	snapshot, err := Snapshot(ctx, a, c, object)
	if err != nil {
		return nil, walk.Answer{}, err
	}
	answer, err := walk.Object(snapshot, object)
	if err != nil {
		return nil, walk.Answer{}, err
	}
	if walk.AsksAzure(answer.Means.Cause) {
		azureSide(ctx, a, t, snapshot)
		if answer, err = walk.Object(snapshot, object); err != nil {
			return nil, walk.Answer{}, err
		}
	}
	if answer.Healthy && snapshot.More != nil && snapshot.Others == nil && walk.NeedsOthers(object.Kind) {
		if err := snapshot.More(ctx); err != nil {
			snapshot.Unexamined("objects of other kinds", err)
		}
		if answer, err = walk.Object(snapshot, object); err != nil {
			return nil, walk.Answer{}, err
		}
	}
	return snapshot, answer, nil
}

// answerWidth is the maximum width of an answer's texts, and answerAt the column in which they begin.
const answerWidth, answerAt = 80, 16

// continued wraps a command at a width, with backslashes at the line ends, so that a shell reads it as one command.
func continued(command string, width int) []string {
	if len([]rune(command)) <= width {
		return []string{command}
	}
	lines := terminal.Wrap(command, width-len(" \\"))
	for i := range lines[:len(lines)-1] {
		lines[i] += " \\"
	}
	return lines
}

// writeAnswer writes an answer with its texts wrapped at a width.
func writeAnswer(w io.Writer, a walk.Answer, width int) {
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
	case a.Healthy && len(a.Also) > 0:
		fmt.Fprintf(w, "%s: nothing has failed, and this is known of it\n", a.Object)
	case a.Healthy && len(a.NotExamined) == 0:
		fmt.Fprintf(w, "%s: nothing is wrong\n", a.Object)
	case a.Healthy:
		fmt.Fprintf(w, "%s: nothing is wrong with what was examined\n", a.Object)
	case a.Waiting:
		so := "nothing is wrong so far"
		if len(a.Also) > 0 {
			so = "something is on its way, and not all is well"
		}
		fmt.Fprintf(w, "%s: %s\n  waits\t%s (%s)\n", a.Object, so, a.At, a.Step)
		row("for", a.Name()+": "+a.Means.Says)
	default:
		fmt.Fprintf(w, "%s\n  first wrong\t%s (%s)\n", a.Object, a.At, a.Step)
	}
	rows("seen", a.Lines()...)
	if !a.Healthy && !a.Waiting {
		row("means", strings.TrimPrefix(a.Means.Cause+": "+a.Means.Says, ": "))
	}
	rows("fix", fixLines(a.Means.Fix, width)...)
	rows("beware", a.Means.Harm)
	rows("next", continued(a.Next(), width)...)
	for i := range a.Also {
		rows("also", a.Also[i].At+": "+a.Also[i].Line)
	}
	rows("in its boot", a.Notes...)
	rows("not examined", a.NotExamined...)
}

// fixLines wraps a fix: a command such that it can be pasted, and a sentence as text.
func fixLines(fix string, width int) []string {
	switch program, _, _ := strings.Cut(fix, " "); program {
	case "az", "casement", "clusterctl", "kubectl":
		return continued(fix, width)
	}
	return terminal.Wrap(fix, width)
}
