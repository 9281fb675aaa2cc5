package explain

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/drift"
)

// activityDays is the default number of days for which the activity log is read; Azure keeps ninety days.
const activityDays = 7

func NewDrift(a *app.App) *cobra.Command {
	var o azure.Account
	var output string
	var since time.Duration
	c := &cobra.Command{
		Use:   "drift CLUSTER",
		Short: "List what in Azure differs from a cluster, or has no owner",
		Long: `Compare a cluster's objects with Azure, as the manager does before it writes, and list
what differs, what somebody has added, what is missing, and what is in the cluster's
resource group or has its tags and has no owner, with the last write in Azure's
activity log. Nothing is changed.

` + azure.AccountHelp + `
The subscription is that of the AzureCluster.

Exit codes: 0 the list was made, also where it is long, 1 failed, 2 usage.`,
		Example: `  casement drift prod -n team
  casement drift prod -n team --identity cluster-identity
  casement drift prod -n team -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := differences(cmd.Context(), a, args[0], o, since)
			if err != nil {
				return err
			}
			return a.Print(output, report, func(w io.Writer) { driftTable(w, report) })
		},
	}
	o.AddFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table, wide, json or yaml")
	c.Flags().DurationVar(&since, "since", activityDays*24*time.Hour, "how far back to read the activity log")
	return c
}

func differences(ctx context.Context, a *app.App, name string, o azure.Account, since time.Duration) (*drift.Report, error) {
	kube, err := a.Client(o.Target)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: o.Namespace, Name: name}
	cluster, err := drift.ClusterOf(ctx, kube, key)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Azure == "auto" && o.Identity == "" && a.OfPlane(o.Target):
		o.Azure = "local"
	case o.Subscription == "":
		o.Subscription = cluster.Spec.SubscriptionID
	}
	from, err := azure.Open(ctx, a, o)
	if err != nil {
		return nil, err
	}
	return drift.Find(ctx, drift.Input{Kube: kube, Azure: from.Client, Cluster: key, Since: time.Now().Add(-since)})
}

func driftTable(w io.Writer, r *drift.Report) {
	for _, note := range r.Notes {
		fmt.Fprintf(w, "%s\n", note)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintf(w, "Cluster %s: nothing differs in %d resources.\n", r.Cluster, r.Compared)
		return
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s\t%s\n", f.Kind, f.Name())
		for _, line := range []string{f.What, requesterOf(f), f.Who(), f.Then} {
			if line != "" {
				fmt.Fprintf(w, "\t%s\n", line)
			}
		}
	}
	fmt.Fprintf(w, "\n%d findings in %d resources of Cluster %s. Nothing was changed.\n", len(r.Findings), r.Compared, r.Cluster)
}

// requesterOf returns the object and field that request the resource of a finding.
func requesterOf(f drift.Finding) string {
	if f.Object == "" {
		return ""
	}
	return fmt.Sprintf("of %s, %s", f.Object, f.Field)
}
