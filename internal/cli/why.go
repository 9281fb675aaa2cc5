package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/local"
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
			facts, err := a.factsFor(cmd.Context(), c, object)
			if err != nil {
				return err
			}
			answer, err := answerFor(facts, object)
			if err != nil {
				return err
			}
			if answer.Healthy || answer.Step == "node" {
				machine := ""
				if object.Kind == "Machine" {
					machine = object.Name
				}
				a.lookInside(cmd.Context(), t, facts, machine)
				if answer, err = answerFor(facts, object); err != nil {
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

func answerFor(f *walk.Facts, o facts.Object) (walk.Answer, error) {
	switch o.Kind {
	case "Machine":
		for i := range f.Machines {
			if f.Machines[i].Name == o.Name {
				return f.ForMachine(&f.Machines[i]), nil
			}
		}
	case "MachinePool":
		for i := range f.Pools {
			if f.Pools[i].Name == o.Name {
				return f.ForPool(&f.Pools[i]), nil
			}
		}
	case "Pod":
		for i := range f.Pods {
			if p := &f.Pods[i]; p.Name == o.Name && p.Namespace == o.Namespace {
				return f.ForPod(p), nil
			}
		}
		if f.Unreachable != "" {
			return walk.Answer{}, fmt.Errorf("ask cluster %s for its pods: %s", o.Cluster.Name, f.Unreachable)
		}
		return walk.Answer{}, fmt.Errorf("there is no pod %s in namespace %s of cluster %s; name it as pod/NAMESPACE/NAME", o.Name, o.Namespace, o.Cluster.Name)
	default:
		return f.ForCluster(), nil
	}
	return walk.Answer{}, fmt.Errorf("%s %s is not in cluster %s", o.Kind, o.Name, o.Cluster.Name)
}

// factsFor gathers what is about an object: all of its cluster, or of a machine that
// alone.
func (a *app) factsFor(ctx context.Context, c client.Client, o facts.Object) (*walk.Facts, error) {
	if o.Kind != "Machine" {
		return a.facts(ctx, c, o.Cluster)
	}
	f, err := facts.Machine(ctx, c, o.Cluster, o.Name)
	if err != nil {
		return nil, err
	}
	a.consoles(ctx, f)
	return f, nil
}

// facts gathers a cluster's facts, with the guests' consoles of the local plane
// where it runs.
func (a *app) facts(ctx context.Context, c client.Client, key client.ObjectKey) (*walk.Facts, error) {
	f, err := facts.Cluster(ctx, c, key)
	if err != nil {
		return nil, err
	}
	a.consoles(ctx, f)
	return f, nil
}

// consoles lets facts read the guests' consoles where the local plane runs; a
// management cluster elsewhere has none.
func (a *app) consoles(ctx context.Context, f *walk.Facts) {
	plane := local.NewClient(a.dir)
	s, err := plane.Status(ctx)
	if err != nil {
		return
	}
	ids := map[string]string{}
	for _, g := range s.Guests {
		id := strings.ToLower(g.ID)
		ids[id] = g.ID
		ids[id[max(0, strings.Index(id, "/resourcegroups/")):]] = g.ID
	}
	f.Console = func(m *clusterv1.Machine) string {
		id := m.Spec.ProviderID
		if am := f.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil && am.Spec.ProviderID != nil {
			id = *am.Spec.ProviderID
		} else if am != nil {
			id = underWay(am)
		}
		id = ids[strings.ToLower(strings.TrimPrefix(id, "azure://"))]
		if id == "" {
			return ""
		}
		var b bytes.Buffer
		if err := plane.Console(ctx, id, false, &b); err != nil {
			return ""
		}
		return b.String()
	}
}

// underWay is the VM that Azure is making for a machine, from its resource group on.
func underWay(am *infrav1.AzureMachine) string {
	if states := am.Status.LongRunningOperationStates; len(states) > 0 {
		return "/resourceGroups/" + states[0].ResourceGroup + "/providers/Microsoft.Compute/virtualMachines/" + states[0].Name
	}
	return ""
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
