package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/image"
)

func newImagesRetire(a *app.App) *cobra.Command {
	var t azure.Account
	var keep int
	var after time.Duration
	var list bool
	var output string
	c := &cobra.Command{
		Use:   "retire FILE",
		Short: "Delete old versions of an image that nothing uses",
		Long: `Take the versions of an ImageBuild's definition that are older than the newest --keep out
of latest, so that no new machine gets them, and delete those that have been out of it for
--after and that nothing uses: no machine and no scale set of the subscription, and no
Cluster, ClusterClass, template, machine or pool of the management cluster, which is that
of --kubeconfig, else $KUBECONFIG, else the local plane. Objects of other management
clusters are not seen: their machines are. --list shows the old versions and who uses
them, and changes nothing.

` + azure.AccountHelp,
		Example: "  casement images retire windows-2022.yaml --list\n  casement images retire windows-2022.yaml --keep 3 --after 720h",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := image.Read(args[0])
			if err != nil {
				return app.Usagef("%w", err)
			}
			if keep < 1 {
				return app.Usagef("--keep is at least 1, not %d", keep)
			}
			from, err := azure.Open(cmd.Context(), a, t)
			if err != nil {
				return err
			}
			objects, err := imageReferrers(cmd.Context(), a, t.Target)
			if err != nil {
				return err
			}
			r := image.Retirement{Client: from.Client, Definition: b.DefinitionID(from.Client.SubscriptionID()), Keep: keep, After: after,
				Objects: objects, Out: a.Out}
			if !list {
				return r.Run(cmd.Context())
			}
			olds, err := r.Olds(cmd.Context())
			if err != nil {
				return err
			}
			return a.Print(output, olds, func(w io.Writer) {
				fmt.Fprintln(w, "VERSION\tOUT OF LATEST\tUSED BY")
				for _, o := range olds {
					since := "no"
					if !o.Retired.IsZero() {
						since = o.Retired.Format(time.DateOnly)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", o.Version, since, orNone(strings.Join(o.UsedBy, ", ")))
				}
			})
		},
	}
	t.AddFlags(c)
	f := c.Flags()
	f.IntVar(&keep, "keep", 3, "how many of the newest published versions stay")
	f.DurationVar(&after, "after", 7*24*time.Hour, "how long a version is out of latest before it is deleted")
	f.BoolVar(&list, "list", false, "list the old versions and change nothing")
	f.StringVarP(&output, "output", "o", "table", "with --list: table, json or yaml")
	return c
}

// imageReferrers reads the objects of a management cluster that may name an image.
func imageReferrers(ctx context.Context, a *app.App, t app.Target) ([]map[string]any, error) {
	c, err := a.Client(t)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, kind := range []schema.GroupVersionKind{
		clusterv1.GroupVersion.WithKind("Cluster"), clusterv1.GroupVersion.WithKind("ClusterClass"),
		infrav1.GroupVersion.WithKind("AzureMachineTemplate"), infrav1.GroupVersion.WithKind("AzureMachine"),
		infrav1.GroupVersion.WithKind("AzureMachinePoolTemplate"), infrav1.GroupVersion.WithKind("AzureMachinePool"),
	} {
		var list unstructured.UnstructuredList
		kind.Kind += "List"
		list.SetGroupVersionKind(kind)
		if err := c.List(ctx, &list); meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("what of the management cluster uses an image is not known: %w", err)
		}
		for i := range list.Items {
			out = append(out, list.Items[i].Object)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the management cluster has no object that could name an image: give the right one by --kubeconfig")
	}
	return out, nil
}
