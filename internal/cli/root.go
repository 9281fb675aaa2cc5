// Package cli is the command line of casement: the root command, the completion, and the general commands (mcp, docs,
// version). Each family of commands is a subpackage with a file per command, which has the flags and a function that
// uses app.App.
//
// It contains no domain logic. Only cmd/casement may import it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/cli/check"
	"casement.dev/casement/internal/cli/cluster"
	"casement.dev/casement/internal/cli/explain"
	"casement.dev/casement/internal/cli/images"
	"casement.dev/casement/internal/cli/local"
	"casement.dev/casement/internal/cli/machine"
)

// Main runs the command line args (with the program's name first) and returns
// the exit code.
func Main(args []string, streams app.Streams) int {
	// Kubernetes' client logs errors that it also returns, such as a read that ended at its deadline. Such lines would
	// be mixed with a command's output, so they are discarded. The local plane sets its own logger.
	klog.SetLogger(logr.Discard())
	a := app.New(streams)
	defer a.Flush()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(a, programName(args[0]))
	line := pluginArgs(args)
	root.SetArgs(line)
	ran, err := unknown(root, line)
	if err == nil {
		ran, err = root.ExecuteContextC(ctx)
	}
	var exit app.ExitError
	var usage app.UsageError
	switch {
	case err == nil:
		return app.ExitDone
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &usage):
		a.Complain(fmt.Sprintf("%s: %v\nsee '%s --help'", root.Name(), err, commandPath(root, ran)))
		return app.ExitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.Complain(root.Name() + ": " + strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
		return app.ExitInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		a.Complain(root.Name() + ": " + strings.ReplaceAll(err.Error(), context.DeadlineExceeded.Error(), "timed out"))
		return app.ExitTimeout
	default:
		a.Complain(fmt.Sprintf("%s: %v", root.Name(), misdirected(err)))
		return app.ExitFailed
	}
}

// misdirected adds to an error about kinds that the cluster does not serve that it is probably the wrong cluster: most
// often, KUBECONFIG contains a workload cluster's kubeconfig.
func misdirected(err error) error {
	lacks := meta.IsNoMatchError(err)
	if failed, ok := errors.AsType[*apiutil.ErrResourceDiscoveryFailed](err); ok {
		for _, one := range *failed {
			lacks = lacks || apierrors.IsNotFound(one)
		}
	}
	if !lacks {
		return err
	}
	return fmt.Errorf("the cluster of this kubeconfig has no Cluster API, as a workload cluster has none: give the management "+
		"cluster's by --kubeconfig or KUBECONFIG; the local plane's is that of 'casement status -o kubeconfig' (%w)", err)
}

// unknown returns an error for a command that does not exist. In a command group, cobra would print the help and report success.
func unknown(root *cobra.Command, args []string) (*cobra.Command, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "__") {
		return nil, nil // the completion command
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	group, rest, err := root.Find(args)
	if err != nil {
		return root, app.Usagef("%w", err)
	}
	if group.Runnable() || group.ParseFlags(rest) != nil || group.Flags().NArg() == 0 {
		return nil, nil
	}
	name, like := group.Flags().Arg(0), ""
	group.SuggestionsMinimumDistance = 2
	if near := group.SuggestionsFor(name); len(near) > 0 {
		like = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return group, app.Usagef("unknown command %q for %q%s", name, group.CommandPath(), like)
}

// commandPath returns the command as the user called it, for messages that refer to its help.
func commandPath(root, ran *cobra.Command) string {
	if ran == nil {
		ran = root
	}
	return ran.CommandPath()
}

// programName returns the program's name for the help: "kubectl casement" if called as a kubectl plugin, otherwise casement.
func programName(arg0 string) string {
	if base := filepath.Base(arg0); base == "kubectl-casement" || base == pluginComplete {
		return "kubectl casement"
	}
	return "casement"
}

func newRoot(a *app.App, name string) *cobra.Command {
	var stateDir string
	root := &cobra.Command{
		Use:   "casement",
		Short: "Windows worker nodes for Kubernetes on Azure, and the same cluster on this machine",
		Long: `casement declares Windows worker nodes for Kubernetes on Azure with Cluster API,
and runs the same cluster on one Linux machine with no Azure at all.

The local plane is simulated where it says so: VMs, containers and Azure are
emulated; etcd, the API servers, Cluster API and casement's controllers are real.`,
		Example: `  casement up
  casement generate cluster demo --flavor windows | casement kubectl apply -f -
  casement wait demo
  casement get kubeconfig demo --file demo.kubeconfig`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.Settle(stateDir) },
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetIn(a.In)
	root.PersistentFlags().StringVar(&stateDir, "state", "",
		"state directory of the local plane (default $CASEMENT_HOME or ~/.local/state/casement)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return app.Usagef("%w", err) })
	root.AddCommand(
		local.NewUp(a), local.NewDown(a), local.NewStatus(a), local.NewConduct(a), local.NewKubectl(a),
		azure.New(a), azure.NewCalls(a),
		cluster.NewGenerate(a), cluster.NewAddons(a), cluster.NewGet(a), cluster.NewUpgrade(a), cluster.NewUI(a), cluster.NewAdopt(a),
		cluster.NewWait(a), cluster.NewFetch(a),
		explain.NewWhy(a), explain.NewDoctor(a), explain.NewTree(a), explain.NewTimeline(a), explain.NewSupport(a),
		explain.NewDrift(a),
		machine.NewSSH(a), machine.NewRDP(a), machine.NewCp(a), machine.NewLogs(a),
		images.New(a), check.NewLint(a), check.NewPreflight(a),
		newMCP(a), newVersion(a), newDocs(a),
	)
	root.Version = version()
	root.SetVersionTemplate(versionLine() + "\n")
	group(root)
	widenOutput(root)
	for _, c := range root.Commands() {
		strictArgs(c)
		strictOutput(c)
	}
	a.Commands = commandsOf(root)
	completeOutput(root)
	completeNames(a, root)
	return root
}

// strictArgs turns wrong positional arguments into usage errors.
func strictArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return app.Usagef("%w: %s", err, c.UseLine())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		strictArgs(sub)
	}
}

// commandsOf returns the pattern of commands in a text: the program's name followed by a command.
func commandsOf(root *cobra.Command) *regexp.Regexp {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	return regexp.MustCompile(`\bcasement (` + strings.Join(names, "|") + `)\b`)
}
