package check

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/cluster"
)

// lintCluster is the cluster that lint reads, selected by kubectl's flags.
type lintCluster struct {
	app.Target
	all bool
	// asked is true if one of the flags was given.
	asked bool
}

func (l *lintCluster) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.Kubeconfig, "kubeconfig", "",
		"read a running cluster, the one of this kubeconfig (default $KUBECONFIG, else the local plane's)")
	f.StringVar(&l.Context, "context", "", "context of the kubeconfig")
	f.StringVarP(&l.Namespace, "namespace", "n", "", "namespace of the cluster to read (default the context's)")
	f.BoolVarP(&l.all, "all-namespaces", "A", false, "read all namespaces of the cluster")
}

// check decides whether a cluster is to be read, and refuses flags that cannot be combined with it.
func (l *lintCluster) check(c *cobra.Command, args []string, o lintOptions) error {
	for _, name := range []string{"kubeconfig", "context", "namespace", "all-namespaces"} {
		l.asked = l.asked || c.Flags().Changed(name)
	}
	switch {
	case !l.asked:
		return nil
	case len(args) > 0:
		return app.Usagef("a cluster and files are not read together; leave out %s, or the flags of the cluster", args[0])
	case o.fix || o.diff:
		return app.Usagef("a cluster is only read; --fix and --diff need files")
	case l.all && l.Namespace != "":
		return app.Usagef("give --namespace or --all-namespaces, not both")
	}
	return nil
}

// lintLive reads the objects of the cluster, and completes the configuration by the cluster's version and nodes.
func lintLive(ctx context.Context, a *app.App, l lintCluster, o lint.Options, config lint.Config) (*lint.Set, lint.Config, []error) {
	none := &lint.Set{}
	cfg, err := a.RestConfig(l.Target)
	if err != nil {
		return none, config, []error{err}
	}
	namespace := l.Namespace
	if namespace == "" && !l.all {
		if namespace, err = contextNamespace(a, l.Target); err != nil {
			return none, config, []error{err}
		}
	}
	contents, err := cluster.Read(ctx, cfg, cluster.Options{Namespace: namespace, Set: o})
	if err != nil && !errors.Is(err, lint.ErrFull) {
		contents.Unread = append(contents.Unread, err)
	}
	if contents.Set == nil {
		contents.Set = none
	}
	return contents.Set, contents.Facts.Complete(config), contents.Unread
}

// contextNamespace returns the namespace of the kubeconfig's context, or default.
func contextNamespace(a *app.App, t app.Target) (string, error) {
	namespace, _, err := a.ClientConfig(t).Namespace()
	return namespace, err
}
