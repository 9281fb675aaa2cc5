package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/diagnose/rollout"
)

func newWait(a *app) *cobra.Command {
	var t target
	var timeout time.Duration
	var what string
	c := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a cluster is available and all its nodes are ready",
		Long: `Wait until the cluster's Available condition is True, every machine that is asked
for has a Ready node and none of an old template is left, or with --for deleted
until the cluster is gone. A status that is older than its spec does not count: a
wait right after a scale or an upgrade waits for it. On a terminal
the progress is one line that changes, elsewhere each change is a line. The exit
code is 3 when the time runs out.`,
		Example: "  casement wait demo\n  casement wait demo --for deleted --timeout 5m",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if what != "ready" && what != "deleted" {
				return usagef("--for is ready or deleted, not %q", what)
			}
			c, err := a.client(t)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.wait(ctx, c, client.ObjectKey{Namespace: t.namespace, Name: args[0]}, what == "deleted")
		},
	}
	t.addFlags(c)
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "give up after this long (exit code 3)")
	c.Flags().StringVar(&what, "for", "ready", "ready or deleted")
	return c
}

// progress is what wait shows of a cluster; a change of it is a line.
type progress struct {
	phase, infrastructure, controlPlane, workers, available string
	nodes                                                   int
}

func (p progress) String() string {
	return fmt.Sprintf("%-12s infrastructure %-5s  control plane %-5s  workers %-5s  nodes ready %d  available %s",
		p.phase, p.infrastructure, p.controlPlane, p.workers, p.nodes, p.available)
}

func (a *app) wait(ctx context.Context, c client.Client, key client.ObjectKey, deleted bool) error {
	start := time.Now()
	terminal := a.Terminal()
	if terminal {
		defer fmt.Fprintln(a.Out)
	}
	var last progress
	var problem string
	for {
		began := time.Now()
		p, done, why, err := look(ctx, c, key)
		// A cluster of a thousand machines takes long to read; it is read less often.
		next := min(max(250*time.Millisecond, 4*time.Since(began)), 5*time.Second)
		switch {
		case apierrors.IsNotFound(err) && deleted:
			if terminal {
				a.redraw()
			}
			fmt.Fprintf(a.Out, "%6.1fs  cluster %s is gone\n", time.Since(start).Seconds(), key.Name)
			return nil
		case apierrors.IsNotFound(err):
			return fmt.Errorf("there is no cluster %s", key)
		case err != nil && ctx.Err() == nil && !overdue(ctx):
			return err
		case err == nil:
			problem = why
			switch {
			case terminal: // one line that is drawn over
				a.redraw()
				fmt.Fprintf(a.Out, "%6.1fs  %s", time.Since(start).Seconds(), p)
			case p != last:
				fmt.Fprintf(a.Out, "%6.1fs  %s\n", time.Since(start).Seconds(), p)
			}
			last = p
			if done && !deleted {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cluster %s after %s: %w\n%s", key.Name, time.Since(start).Round(time.Second), ctx.Err(), problem)
		case <-time.After(next):
		}
	}
}

// overdue says whether a request would not end before the time does: the client
// refuses to send it then.
func overdue(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < time.Second
}

// look reads a cluster's progress; why says what is still missing.
func look(ctx context.Context, c client.Client, key client.ObjectKey) (p progress, done bool, why string, err error) {
	o, err := rollout.Read(ctx, c, key)
	if err != nil {
		return p, false, "", err
	}
	row := clusterRows([]clusterv1.Cluster{*o.Cluster})[0]
	p = progress{phase: row.Phase, controlPlane: row.ControlPlane, workers: row.Workers, available: row.Available, nodes: o.NodesReady(), infrastructure: "no"}
	if done := o.Cluster.Status.Initialization.InfrastructureProvisioned; done != nil && *done {
		p.infrastructure = "yes"
	}
	why = o.Missing()
	return p, why == "", why, nil
}
