package cluster

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/adopt"
	"casement.dev/casement/internal/cli/app"
)

func NewAdopt(a *app.App) *cobra.Command {
	var t app.Target
	var output string
	var yes bool
	c := &cobra.Command{
		Use:   "adopt CLUSTER",
		Short: "Take a cluster over from CAPZ, with its machines as they are",
		Long: `Take a cluster over that CAPZ v1.26 created: the same objects, the same Azure
resources, no machine replaced. Without --yes it shows what would change and changes
nothing. With --yes the cluster is paused, changed, and goes on; begun again it does the
rest.

Before: end CAPZ's manager with the clusters paused, keep its CustomResourceDefinitions,
and install casement. See docs/capz.md.`,
		Example: "  casement adopt prod -n team\n  casement adopt prod -n team --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			plan, err := adopt.Adopter{Client: c}.Observe(cmd.Context(), client.ObjectKey{Namespace: t.Namespace, Name: args[0]})
			if err != nil {
				return err
			}
			if !yes || output != "table" {
				if err := a.Print(output, plan, func(w io.Writer) { adoptTable(w, plan) }); err != nil {
					return err
				}
			}
			if len(plan.Refusals) > 0 {
				return errors.New(strings.Join(plan.Refusals, "\n"))
			}
			if !yes {
				return nil
			}
			return plan.Apply(cmd.Context(), func(c adopt.Change) { fmt.Fprintf(a.Err, "%s: %s\n", c.Object, c.Does) })
		},
	}
	t.AddFlags(c)
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

func adoptTable(w io.Writer, p *adopt.Plan) {
	if len(p.Refusals) > 0 {
		return
	}
	if len(p.Changes) == 0 {
		fmt.Fprintf(w, "Cluster %s has nothing of CAPZ's left.\n", p.Cluster)
		return
	}
	fmt.Fprintln(w, "OBJECT\tWOULD")
	for _, c := range p.Changes {
		fmt.Fprintf(w, "%s\t%s\n", c.Object, c.Does)
	}
	fmt.Fprintf(w, "\nKept as they are in Azure: %d machines, %d pools. With --yes it is done.\n", p.Machines, p.Pools)
}
