package cluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/kuberelease"
)

func NewAddons(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "addons",
		Short: "What a cluster needs beside Cluster API: network, storage, metrics",
		Example: `  casement addons list
  casement addons install calico cloud-provider-azure --cluster demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newAddonsList(a), newAddonsInstall(a))
	return c
}

// AddonRow is an addon in the list's output.
type AddonRow struct {
	Name    string              `json:"name"`
	Version string              `json:"version"`
	Labels  []map[string]string `json:"labels"`
	About   string              `json:"about"`
}

func newAddonsList(a *app.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the addons, with the labels by which a Cluster asks for them",
		Example: "  casement addons list\n  casement addons list -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var rows []AddonRow
			for _, x := range addons.All() {
				rows = append(rows, AddonRow{x.Name, x.Version, x.Selectors, x.About})
			}
			return a.Print(output, rows, func(w io.Writer) {
				fmt.Fprintln(w, "NAME\tVERSION\tLABELS")
				for _, r := range rows {
					fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Version, labelText(r.Labels[0]))
				}
			})
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "table", "table, name, json or yaml")
	return c
}

func newAddonsInstall(a *app.App) *cobra.Command {
	var t app.Target
	var cluster, kubernetes string
	c := &cobra.Command{
		Use:   "install NAME...",
		Short: "Let a cluster have addons that its template does not bring",
		Long: `Label the Cluster so that it asks for the addons, and make sure that its namespace
has the ClusterResourceSets that install them. Cluster API installs them once, as soon
as the API server answers; what is changed in the cluster later stays.

Templates of CAPZ bring no network: their users install one by hand. Calico for Linux
and Windows nodes is 'calico calico-windows'; the cloud controller and node manager are
'cloud-provider-azure'.`,
		Example: `  casement addons install calico cloud-provider-azure --cluster demo
  casement addons install calico calico-windows csi-proxy --cluster demo`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			key := client.ObjectKey{Namespace: t.Namespace, Name: cluster}
			return installAddons(cmd.Context(), a, c, key, args, addons.Params{KubernetesVersion: kubernetes})
		},
	}
	t.AddFlags(c)
	c.Flags().StringVar(&cluster, "cluster", "", "name of the Cluster")
	c.Flags().StringVar(&kubernetes, "kubernetes-version", kuberelease.Default, "Kubernetes version that the addons are chosen for")
	_ = c.MarkFlagRequired("cluster") // the flag exists
	return c
}

func installAddons(ctx context.Context, a *app.App, c client.Client, key client.ObjectKey, names []string, p addons.Params) error {
	var cluster clusterv1.Cluster
	if err := c.Get(ctx, key, &cluster); err != nil {
		return fmt.Errorf("get Cluster %s: %w", key, err)
	}
	labelled := cluster.DeepCopy()
	var sets []client.Object
	for _, name := range names {
		addon, err := addons.Find(name)
		if err != nil {
			return app.Usagef("%v", err)
		}
		missing, err := addon.Ask(labelled.Labels)
		if err != nil {
			return err
		}
		if labelled.Labels == nil {
			labelled.Labels = map[string]string{}
		}
		maps.Copy(labelled.Labels, missing)
		objects, err := addon.ResourceSets(key.Namespace, p)
		if err != nil {
			return err
		}
		sets = append(sets, objects...)
		fmt.Fprintf(a.Out, "Cluster %s gets %s %s (label %s)\n", key.Name, addon.Name, addon.Version, labelText(addon.Selectors[0]))
	}
	for _, o := range sets {
		if err := client.IgnoreAlreadyExists(c.Create(ctx, o)); err != nil {
			return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
		}
	}
	if err := c.Patch(ctx, labelled, client.MergeFrom(&cluster)); err != nil {
		return fmt.Errorf("label Cluster %s: %w", key, err)
	}
	return nil
}

// labelText returns a label set in the syntax of a selector.
func labelText(labels map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, key+"="+labels[key])
	}
	return strings.Join(out, ",")
}
