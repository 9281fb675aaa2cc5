// Command azure creates, changes and deletes two mixed clusters, one of machines and one of pools,
// in the Azure subscription that the environment names, with a recorder between casement and Azure,
// and writes one HTML page with the results. The run costs money, so it has a budget of hours,
// machines and dollars, and creates all resources in two resource groups, which are deleted at the
// end in any case. With -rehearse a local Azure replaces the real one.
//
// It runs the built binaries like a user. It is not part of the product: `make e2e-azure` runs it
// manually.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the values of the flags.
type options struct {
	casement, file string
	rehearse       bool
	// stage makes the program serve the local Azure of a rehearsal.
	stage bool
	// short skips the steps that change the clusters.
	short bool
	// guard makes the program the guard of another run; the values are the name of that run's
	// clusters and its home folder.
	guard, home string
	// own makes the guard also delete the run's service principal.
	own bool
}

// report returns the path of the page, which is beside the recording.
func (o options) report() string { return strings.TrimSuffix(o.file, filepath.Ext(o.file)) + ".html" }

func main() {
	var o options
	flag.StringVar(&o.casement, "casement", "bin/casement", "the program to try")
	flag.StringVar(&o.file, "file", "bin/azure.yaml", "the recording to write, with the report beside it; those of before are replaced")
	flag.BoolVar(&o.rehearse, "rehearse", false, "let a local Azure replace the real one")
	flag.BoolVar(&o.stage, "stage", false, "internal: serve the local Azure of a rehearsal until standard input ends")
	flag.BoolVar(&o.short, "short", false, "make the clusters, look at them and delete them, and change nothing in between")
	flag.StringVar(&o.guard, "guard", "", "internal: clean up after the run of this name when standard input ends")
	flag.StringVar(&o.home, "home", "", "internal: the folder of that run")
	flag.BoolVar(&o.own, "own", false, "internal: that run made a service principal")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := try
	switch {
	case o.guard != "":
		run = guard
	case o.stage:
		run = stage
	case o.rehearse:
		run = rehearse
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "e2e-azure:", err)
		os.Exit(1)
	}
}

// try runs the clusters' steps within the budget. The guard, which outlives it, deletes what
// remains.
func try(ctx context.Context, o options) (err error) {
	getenv, own, err := account(ctx, os.Getenv)
	if err != nil {
		return err
	}
	s, err := fromEnvironment(getenv, own)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "cas") // a short path, for unix sockets
	if err != nil {
		return err
	}
	watchman, err := startGuard(s, o, home)
	if err != nil {
		return err
	}
	if own {
		if s, err = s.login(ctx, home); err != nil {
			_, swept := watchman.finish()
			return errors.Join(err, swept)
		}
	}
	g, err := openGroups(s)
	if err != nil {
		_, swept := watchman.finish()
		return errors.Join(err, swept)
	}
	fmt.Printf("Azure at %s, subscription %s, %s: resource groups %s, at most %d machines, %s, %.2f dollars\n", s.endpoint,
		s.subscription, s.location, strings.Join(s.groups(), " and "), s.machines, s.hours, s.dollars)
	bounded, cancel := context.WithTimeoutCause(ctx, s.hours, fmt.Errorf("the budget of %s is over", s.hours))
	defer cancel()
	bounded, over := context.WithCancelCause(bounded)
	defer over(nil)
	watched := make(chan use, 1)
	go func() { watched <- g.watch(bounded, s, over) }()

	r := newReport(s, o)
	err = live(bounded, s, o, home, r)
	if cause := context.Cause(bounded); cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	over(nil)
	r.Use = <-watched
	r.Took = time.Since(r.Started).Round(time.Second)
	said, swept := watchman.finish()
	r.Left = said
	if n := r.failures(); err == nil && n > 0 {
		err = fmt.Errorf("%d rows failed", n)
	}
	if err == nil && swept == nil && strings.Contains(said, leftBehind) {
		err = errors.New("the clusters were deleted and a resource group was left; it is deleted now")
	}
	if err = errors.Join(err, swept); err != nil {
		r.Ended = err.Error()
	}
	r.readRecording(o.file)
	if !r.Rehearsal { // the rehearsal replays the recording itself
		r.compare(ctx, o.file)
	}
	return errors.Join(err, r.write(o.report()))
}
