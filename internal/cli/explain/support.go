package explain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/support"
	"casement.dev/casement/internal/plane"
)

func NewSupport(a *app.App) *cobra.Command {
	var t app.Target
	var file string
	c := &cobra.Command{
		Use:   "support NAME",
		Short: "Write one redacted archive about a cluster for somebody else",
		Long: `Write objects, events, boot logs, the local Azure's calls and doctor's result into
a gzipped tar. Secrets are not read. Of bootstrap data, environment, annotations, headers,
tags and command lines, names are shown, and values only if they are on a list; else
they are replaced by [redacted]. So is, in logs and events, what has the shape of a token,
key or password, or follows the name of one. A secret that is an ordinary word in a log
is not recognised: look through the archive before you send it. Names, addresses and
subscription IDs stay. An existing file is not overwritten.`,
		Example: "  casement support demo\n  casement support demo --file demo.tar.gz",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			collectLess()
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			if file == "" {
				file = "casement-support-" + args[0] + ".tar.gz"
			}
			sum, err := write(cmd.Context(), a, c, client.ObjectKey{Namespace: t.Namespace, Name: args[0]}, file)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s: %d files, %d values redacted\nWhat looks like a secret is taken out; what "+
				"does not is in it. Look through it before you send it.\n", file, len(sum.Files), sum.Redacted)
			return nil
		},
	}
	t.AddFlags(c)
	c.Flags().StringVar(&file, "file", "", "archive to write (default casement-support-NAME.tar.gz)")
	return c
}

func write(ctx context.Context, a *app.App, c client.Client, key client.ObjectKey, file string) (sum support.Summary, err error) {
	snapshot, err := Snapshot(ctx, a, c, ClusterObject(key.Namespace, key.Name))
	if err != nil {
		return sum, err
	}
	var events corev1.EventList
	if err := c.List(ctx, &events, client.InNamespace(key.Namespace)); err != nil {
		return sum, err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return sum, fmt.Errorf("write the archive: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	archive := support.New(out, key.Name, time.Now())
	if err := archive.Cluster(snapshot, events.Items); err != nil {
		return sum, err
	}
	local := plane.NewClient(a.Dir)
	if status, err := local.Status(ctx); err == nil {
		if err := archive.Object("local/status.yaml", status); err != nil {
			return sum, err
		}
		if calls, err := local.Calls(ctx); err == nil {
			if err := archive.Object("local/calls.yaml", calls); err != nil {
				return sum, err
			}
		}
	}
	return archive.Close()
}

// briefHeap is the heap size in bytes up to which a short command that reads many objects (support) uses memory instead
// of time for garbage collection.
const briefHeap = 768 << 20

// collectLess makes garbage collections rarer, unless the environment has set a limit.
func collectLess() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(briefHeap)
		debug.SetGCPercent(400)
	}
}
