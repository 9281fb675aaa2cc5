package cluster

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
)

func NewGet(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "get", Short: "Print clusters or a cluster's kubeconfig",
		Example: "  casement get clusters\n  casement get kubeconfig demo", Args: cobra.NoArgs}
	c.AddCommand(newGetClusters(a), newGetKubeconfig(a))
	return c
}

func newGetKubeconfig(a *app.App) *cobra.Command {
	var t app.Target
	var file string
	c := &cobra.Command{
		Use:     "kubeconfig NAME",
		Short:   "Print the kubeconfig of a workload cluster",
		Example: "  casement get kubeconfig demo --file demo.kubeconfig\n  kubectl --kubeconfig demo.kubeconfig get nodes -o wide",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			data, err := app.WorkloadKubeconfig(cmd.Context(), c, client.ObjectKey{Namespace: t.Namespace, Name: args[0]})
			if err != nil {
				return err
			}
			if file != "" {
				return writeSecret(file, data)
			}
			_, err = a.Data().Write(data)
			return err
		},
	}
	t.AddFlags(c)
	c.Flags().StringVar(&file, "file", "", "write it to this file, which only you can read")
	return c
}

// writeSecret writes a file of mode 0600, even if the file exists with another mode.
func writeSecret(file string, data []byte) error {
	if err := plane.ReplaceFile(file, data); err != nil { // os.CreateTemp makes the file with mode 0600
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// ClusterRow is a line of get clusters and an item of its JSON.
type ClusterRow struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Phase     string `json:"phase"`
	Available string `json:"available"`
	// Endpoint is the host:port of the API server.
	Endpoint     string      `json:"endpoint,omitempty"`
	ControlPlane string      `json:"controlPlane"`
	Workers      string      `json:"workers"`
	Created      metav1.Time `json:"created"`
	// Problem is the message of the Available condition while it is not True.
	Problem string `json:"problem,omitempty"`
}

func newGetClusters(a *app.App) *cobra.Command {
	var t app.Target
	var output string
	c := &cobra.Command{
		Use:     "clusters",
		Short:   "List the workload clusters, problems first",
		Example: "  casement get clusters\n  casement get clusters -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			var list clusterv1.ClusterList
			var only []client.ListOption
			if cmd.Flags().Changed("namespace") {
				only = append(only, client.InNamespace(t.Namespace))
			}
			if err := c.List(cmd.Context(), &list, only...); err != nil {
				return err
			}
			rows := clusterRows(list.Items)
			if len(rows) == 0 && len(only) > 0 {
				fmt.Fprintf(a.Err, "There is no cluster in namespace %s.\n", t.Namespace)
			}
			if output == "name" {
				for _, r := range rows {
					fmt.Fprintf(a.Out, "cluster.cluster.x-k8s.io/%s\n", r.Name)
				}
				return nil
			}
			return a.Print(output, rows, func(w io.Writer) {
				fmt.Fprintln(w, "NAMESPACE\tNAME\tPHASE\tAVAILABLE\tCONTROL PLANE\tWORKERS\tENDPOINT\tAGE")
				for _, r := range rows {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Namespace, r.Name, r.Phase, r.Available,
						r.ControlPlane, r.Workers, r.Endpoint, duration.HumanDuration(time.Since(r.Created.Time)))
				}
			})
		},
	}
	t.AddFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table, name, json or yaml (of which templates find the clusters in .items)")
	return c
}

func clusterRows(clusters []clusterv1.Cluster) []ClusterRow {
	var good, bad []ClusterRow
	for i := range clusters {
		cl := &clusters[i]
		r := ClusterRow{Namespace: cl.Namespace, Name: cl.Name, Phase: cl.Status.Phase,
			Created: cl.CreationTimestamp, Available: "Unknown", ControlPlane: "-", Workers: "-"}
		if e := cl.Spec.ControlPlaneEndpoint; e.Host != "" {
			r.Endpoint = fmt.Sprintf("%s:%d", e.Host, e.Port)
		}
		if cp := cl.Status.ControlPlane; cp != nil {
			r.ControlPlane = replicas(cp.ReadyReplicas, cp.DesiredReplicas)
		}
		if ws := cl.Status.Workers; ws != nil {
			r.Workers = replicas(ws.ReadyReplicas, ws.DesiredReplicas)
		}
		if cond := meta.FindStatusCondition(cl.Status.Conditions, clusterv1.ClusterAvailableCondition); cond != nil {
			r.Available = string(cond.Status)
			if cond.Status != metav1.ConditionTrue {
				r.Problem = cond.Message
			}
		}
		if r.Available == string(metav1.ConditionTrue) {
			good = append(good, r)
		} else {
			bad = append(bad, r)
		}
	}
	return append(bad, good...)
}

func replicas(ready, desired *int32) string {
	text := func(n *int32) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprint(*n)
	}
	return text(ready) + "/" + text(desired)
}
