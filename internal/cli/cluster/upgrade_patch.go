package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/patchday"
)

// PatchedPool is the progress of patch day with a pool.
type PatchedPool struct {
	// Pool is KIND/NAME; Channel is the channel that the pool follows.
	Pool    string `json:"pool"`
	Channel string `json:"channel"`
	// Phase is Canary, Rolling, RollingBack or ""; From and To are versions of the image.
	Phase string `json:"phase,omitempty"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	// Status, Reason and Message are copied from the condition ImageUpToDate.
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Refused are the versions that failed, each with the reason.
	Refused map[string]string `json:"refused,omitempty"`
	// Frozen is the reason of a freeze, or "".
	Frozen string `json:"frozen,omitempty"`

	object client.Object
}

func newUpgradeStatus(a *app.App) *cobra.Command {
	var t app.Target
	var output string
	c := &cobra.Command{
		Use:   "status CLUSTER",
		Short: "Show how far patch day is with each pool",
		Long: `Print the pools of a cluster that follow a channel of images, with the version that each
moves to, how far it is and what it waits for. Patch day is a controller of
casement-manager, off by default: --feature-gates=PatchDay=true.`,
		Example: "  casement upgrade status demo\n  casement upgrade status demo -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			cluster, pools, err := patchedPools(cmd.Context(), c, t.Namespace, args[0])
			if err != nil {
				return err
			}
			return a.Print(output, pools, func(w io.Writer) { patchText(w, cluster, pools) })
		},
	}
	t.AddFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

// patchedPools reads the pools of a cluster that follow a channel or that patch day has moved.
func patchedPools(ctx context.Context, c client.Client, namespace, name string) (*clusterv1.Cluster, []PatchedPool, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
		return nil, nil, fmt.Errorf("read cluster %s: %w", name, err)
	}
	var deployments clusterv1.MachineDeploymentList
	var machinePools clusterv1.MachinePoolList
	for _, list := range []client.ObjectList{&deployments, &machinePools} {
		if err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name}); err != nil {
			return nil, nil, fmt.Errorf("list the pools of cluster %s: %w", name, err)
		}
	}
	pools := []PatchedPool{}
	add := func(kind string, o interface {
		client.Object
		GetConditions() []metav1.Condition
	}) {
		policy, err := patchday.Read(cluster.Annotations, o.GetAnnotations())
		p := PatchedPool{Pool: kind + "/" + o.GetName(), Channel: policy.Channel, Frozen: policy.Freeze, Status: "Unknown",
			Reason: "NotSeen", Message: "no manager with the feature gate PatchDay has looked at it yet", object: o}
		if err != nil {
			p.Reason, p.Message = infrav1.PatchPolicyInvalidReason, err.Error()
		}
		var state patchday.State
		text := o.GetAnnotations()[infrav1.PatchStateAnnotation]
		if text != "" {
			if err := json.Unmarshal([]byte(text), &state); err != nil {
				p.Message = err.Error()
			}
		}
		p.Phase, p.From, p.To, p.Refused = string(state.Phase), state.From, state.To, state.Refused
		if is := meta.FindStatusCondition(o.GetConditions(), infrav1.ImageUpToDateCondition); is != nil {
			p.Status, p.Reason, p.Message = string(is.Status), is.Reason, is.Message
		}
		if policy.Channel != infrav1.ImageChannelNone || text != "" || err != nil {
			pools = append(pools, p)
		}
	}
	for i := range deployments.Items {
		add("MachineDeployment", &deployments.Items[i])
	}
	for i := range machinePools.Items {
		add("MachinePool", &machinePools.Items[i])
	}
	slices.SortFunc(pools, func(a, b PatchedPool) int { return cmp.Compare(a.Pool, b.Pool) })
	return cluster, pools, nil
}

// patchText prints pools, and below each pool the reason why it waits.
func patchText(w io.Writer, cluster *clusterv1.Cluster, pools []PatchedPool) {
	if len(pools) == 0 {
		fmt.Fprintf(w, "No pool of %s follows a channel: annotate the Cluster with\n  %s=%s\n", cluster.Name,
			infrav1.ImageChannelAnnotation, infrav1.ImageChannelVerified)
		return
	}
	for _, p := range pools {
		fmt.Fprintf(w, "%s  %s\n", p.Pool, p.Reason)
		if p.Phase != "" {
			fmt.Fprintf(w, "  %s to %s\n", p.From, p.To)
		}
		for _, line := range folded(p.Message, 76) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
}

// folded breaks a text at spaces into lines of a width; a longer word has a line of its own.
func folded(text string, width int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			out, line = append(out, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(out, line)
}

// newUpgradePause returns the command that freezes a cluster's pools.
func newUpgradePause(a *app.App) *cobra.Command {
	var reason string
	return annotating(a, "pause CLUSTER", "Let patch day change nothing more",
		`Annotate a Cluster so that patch day begins nothing. A canary stays as it is, and a pool
that replaces its nodes ends with those that it has begun. A way back goes on.`,
		"  casement upgrade pause demo --reason 'quarter end'", func(c *cobra.Command) {
			c.Flags().StringVar(&reason, "reason", "paused by casement upgrade pause", "what to say in the pools' conditions")
		}, func(_ context.Context, _ client.Client, _ []PatchedPool, annotations map[string]string) error {
			annotations[infrav1.PatchFreezeAnnotation] = reason
			return nil
		})
}

// newUpgradeResume returns the command that ends a freeze.
func newUpgradeResume(a *app.App) *cobra.Command {
	var retry bool
	return annotating(a, "resume CLUSTER", "Let patch day go on",
		`Remove what casement upgrade pause set. With --retry the versions that failed on the pools
of the cluster are tried again.`,
		"  casement upgrade resume demo\n  casement upgrade resume demo --retry", func(c *cobra.Command) {
			c.Flags().BoolVar(&retry, "retry", false, "try versions again that failed")
		}, func(ctx context.Context, c client.Client, pools []PatchedPool, annotations map[string]string) error {
			delete(annotations, infrav1.PatchFreezeAnnotation)
			for _, p := range pools {
				if retry && len(p.Refused) > 0 && p.Phase == "" {
					if err := forgive(ctx, c, p.object); err != nil {
						return err
					}
				}
			}
			return nil
		})
}

// forgive removes the failed versions from patch day's record of a pool that patch day is not moving.
func forgive(ctx context.Context, c client.Client, o client.Object) error {
	before, _ := o.DeepCopyObject().(client.Object)
	annotations := o.GetAnnotations()
	var state patchday.State
	if err := json.Unmarshal([]byte(annotations[infrav1.PatchStateAnnotation]), &state); err != nil {
		return err
	}
	state.Refused = nil
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	annotations[infrav1.PatchStateAnnotation] = string(data)
	o.SetAnnotations(annotations)
	if err := c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("let %s try again what failed: %w", o.GetName(), err)
	}
	return nil
}

// newUpgradeRollback returns the command that requests the previous version.
func newUpgradeRollback(a *app.App) *cobra.Command {
	var reason string
	return annotating(a, "rollback CLUSTER", "Take the pools back to the image version before",
		`Annotate a Cluster so that each of its pools goes back: one that moves to where it came
from, one that has moved to the version before its last move. What it goes back from is not
tried again until a newer version is there, or casement upgrade resume --retry.`,
		"  casement upgrade rollback demo --reason 'IIS does not start'", func(c *cobra.Command) {
			c.Flags().StringVar(&reason, "reason", "casement upgrade rollback", "what to say in the pools' conditions")
		}, func(_ context.Context, _ client.Client, _ []PatchedPool, annotations map[string]string) error {
			annotations[infrav1.PatchRollbackAnnotation] = reason
			return nil
		})
}

// annotating returns a command that changes the annotations of a Cluster whose pools follow a channel.
func annotating(a *app.App, use, short, long, example string, flags func(*cobra.Command),
	change func(ctx context.Context, c client.Client, pools []PatchedPool, annotations map[string]string) error) *cobra.Command {
	var t app.Target
	c := &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			cluster, pools, err := patchedPools(cmd.Context(), c, t.Namespace, args[0])
			if err != nil {
				return err
			}
			if len(pools) == 0 {
				return fmt.Errorf("no pool of cluster %s follows a channel: annotate the Cluster with %s=%s", args[0],
					infrav1.ImageChannelAnnotation, infrav1.ImageChannelVerified)
			}
			before := cluster.DeepCopy()
			if cluster.Annotations == nil {
				cluster.Annotations = map[string]string{}
			}
			if err := change(cmd.Context(), c, pools, cluster.Annotations); err != nil {
				return err
			}
			if err := c.Patch(cmd.Context(), cluster, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("annotate cluster %s: %w", args[0], err)
			}
			fmt.Fprintf(a.Err, "Done; casement upgrade status %s shows what comes of it.\n", args[0])
			return nil
		},
	}
	t.AddFlags(c)
	flags(c)
	return c
}
