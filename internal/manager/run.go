package manager

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // for --logging-format=json
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"casement.dev/casement/internal/trace"
)

// Run is the main function of casement-manager: it reads flags and the environment and runs until ctx ends. It has
// printed the error that it returns on stderr.
func Run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) error {
	o := Defaults()
	logging := logsapi.NewLoggingConfiguration()
	flags := pflag.NewFlagSet("casement-manager", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	o.AddFlags(flags, getenv)
	logsapi.AddFlags(logging, flags)
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err == nil {
		err = o.Validate() // before the wait for the management cluster
	}
	if err == nil {
		err = run(ctx, o, logging)
	}
	if err != nil {
		fmt.Fprintf(stderr, "casement-manager: %v\n", err)
	}
	return err
}

func run(ctx context.Context, o Options, logging *logsapi.LoggingConfiguration) error {
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := logsapi.ValidateAndApply(logging, nil); err != nil {
		return err
	}
	ctrl.SetLogger(klog.Background())
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w", err)
	}
	if !o.LintOnly {
		if err := awaitKinds(ctx, cfg, klog.Background()); err != nil {
			if ctx.Err() != nil {
				return nil // ctx ended meanwhile
			}
			return err
		}
	}
	if o.TraceEndpoint != "" {
		stop, err := trace.Start(ctx, o.TraceEndpoint)
		if err != nil {
			return err
		}
		defer func() {
			if err := stop(); err != nil {
				klog.Background().Error(err, "The last traces were not sent")
			}
		}()
	}
	mgr, err := New(cfg, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
