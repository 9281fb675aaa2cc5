package helm

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Main runs the manager of the two kinds as a program until a signal ends it, and returns the exit code: 2 for an
// invalid command line, 1 for a failed manager.
func Main(args []string, errOut io.Writer) int {
	var o Options
	flags := flag.NewFlagSet("charts", flag.ContinueOnError)
	flags.SetOutput(errOut)
	kubeconfig := flags.String("kubeconfig", "", "file that reaches the management cluster")
	flags.StringVar(&o.Charts, "charts", "", "folder of charts that are taken from there")
	flags.StringVar(&o.Cache, "cache", "", "folder for what is downloaded")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *kubeconfig == "" || o.Cache == "" || flags.NArg() > 0 {
		fmt.Fprintln(errOut, "usage: charts --kubeconfig FILE --cache DIR [--charts DIR]")
		return 2
	}
	log := logr.FromSlogHandler(slog.NewTextHandler(errOut, nil))
	klog.SetLogger(log)
	ctrl.SetLogger(log)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, o); err != nil {
		log.Error(err, "The manager of HelmChartProxies ended")
		return 1
	}
	return 0
}

func run(ctx context.Context, kubeconfig string, o Options) error {
	rc, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of the management cluster: %w", err)
	}
	mgr, err := New(rc, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
