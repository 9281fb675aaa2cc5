// Package cli is the command line of casement: one file per command, each with
// its flags and a run function over streams and clients. It holds no domain
// logic; what a command knows, a package below knows. Only cmd/casement may
// import it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"casement.dev/casement/internal/plane"
)

// Exit codes of every command.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitTimeout = 3
	// ExitInterrupted is the exit code of a program that SIGINT ended, as shells report it: 128 plus the signal's
	// number.
	ExitInterrupted = 130
)

// usageError is an error of the command line itself.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError contains the exit code of a child program, such as kubectl, which becomes
// casement's own.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// Main runs the command line args (with the program's name first) and returns
// the exit code.
func Main(args []string, streams Streams) int {
	// Kubernetes' client logs errors that it also returns, such as a read that a deadline cut off. Such lines would be
	// mixed with a command's output, so they are discarded. The local plane sets its own logger.
	klog.SetLogger(logr.Discard())
	a := newApp(streams)
	defer a.flush()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(a, programName(args[0]))
	line := pluginArgs(args)
	root.SetArgs(line)
	ran, err := unknown(root, line)
	if err == nil {
		ran, err = root.ExecuteContextC(ctx)
	}
	var exit exitError
	var usage usageError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		a.complain(fmt.Sprintf("%s: %v\nsee '%s --help'", root.Name(), err, commandPath(root, ran)))
		return ExitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.complain(root.Name() + ": " + strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
		return ExitInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		a.complain(root.Name() + ": " + strings.ReplaceAll(err.Error(), context.DeadlineExceeded.Error(), "timed out"))
		return ExitTimeout
	default:
		a.complain(fmt.Sprintf("%s: %v", root.Name(), misdirected(err)))
		return ExitFailed
	}
}

// misdirected says of an error for kinds that the cluster does not serve that it is the wrong
// cluster: most often a workload cluster's kubeconfig is in KUBECONFIG.
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

// unknown returns an error for a command that does not exist. Below a command group cobra would print the help and
// report success.
func unknown(root *cobra.Command, args []string) (*cobra.Command, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "__") {
		return nil, nil // completion
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	group, rest, err := root.Find(args)
	if err != nil {
		return root, usageError{err}
	}
	if group.Runnable() || group.ParseFlags(rest) != nil || group.Flags().NArg() == 0 {
		return nil, nil
	}
	name, like := group.Flags().Arg(0), ""
	group.SuggestionsMinimumDistance = 2
	if near := group.SuggestionsFor(name); len(near) > 0 {
		like = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return group, usagef("unknown command %q for %q%s", name, group.CommandPath(), like)
}

// commandPath returns the command as the user called it, for messages that point to its help.
func commandPath(root, ran *cobra.Command) string {
	if ran == nil {
		ran = root
	}
	return ran.CommandPath()
}

// programName returns the name shown in help: "kubectl casement" when called as a kubectl plugin, else casement.
func programName(arg0 string) string {
	if base := filepath.Base(arg0); base == "kubectl-casement" || base == pluginComplete {
		return "kubectl casement"
	}
	return "casement"
}

func newRoot(a *app, name string) *cobra.Command {
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
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.settle(stateDir) },
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetIn(a.In)
	root.PersistentFlags().StringVar(&stateDir, "state", "",
		"state directory of the local plane (default $CASEMENT_HOME or ~/.local/state/casement)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newUp(a), newDown(a), newStatus(a), newConduct(a),
		newGenerate(a), newAddons(a), newGet(a), newTree(a), newUpgrade(a), newUI(a), newWhy(a), newDoctor(a), newSupport(a),
		newAdopt(a), newTimeline(a), newMCP(a), newWait(a), newLogs(a), newCalls(a), newAzure(a), newLint(a), newFetch(a),
		newKubectl(a),
		newSSH(a), newRDP(a), newCp(a), newImages(a), newPreflight(a), newDrift(a),
		newVersion(a), newDocs(a),
	)
	root.Version = version()
	root.SetVersionTemplate(versionLine() + "\n")
	group(root)
	widenOutput(root)
	for _, c := range root.Commands() {
		strictArgs(c)
		strictOutput(c)
	}
	a.suit = commandsOf(root)
	completeOutput(root)
	a.completeNames(root)
	return root
}

// settle determines the state directory: the named one, or the user's default. One that others could exchange is
// refused.
func (a *app) settle(named string) (err error) {
	if named == "" {
		a.dir, err = plane.DefaultDir()
	} else {
		named, err = filepath.Abs(named)
		a.dir = plane.Dir(named)
		if usual, _ := plane.DefaultDir(); usual != a.dir {
			a.named = named
		}
	}
	if err != nil {
		return err
	}
	return a.dir.Check()
}

// strictArgs turns wrong positional arguments into usage errors.
func strictArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usagef("%w: %s", err, c.UseLine())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		strictArgs(sub)
	}
}
