// Package local is the local plane: one conductor process that holds Cluster
// API's managers, casement's own manager, the local Azure, its guests and the
// simulated kubelets, and supervises the etcd and Kubernetes processes beside it.
//
// It is assembly: it joins the provider and the simulator, which do not know each
// other, and has no domain logic of its own. It never runs anything as root and
// touches nothing but its state directory and addresses of 127.0.0.0/8. Only
// internal/cli and tests may import it.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/sim/standin"
)

// Phases of a plane.
const (
	PhaseStarting = "starting"
	PhaseReady    = "ready"
	PhaseFailed   = "failed"
	PhaseStopping = "stopping"
)

// Options says what to run.
type Options struct {
	Dir Dir
	// Log receives the plane's log.
	Log io.Writer
	// Latency scales the durations of Azure's operations; zero is at once.
	Latency float64
	// Throttle limits requests to the local Azure: 0 not at all, 1 as Azure does.
	Throttle float64
	// AzureOnly runs the local Azure and its guests, without Kubernetes.
	AzureOnly bool
	// Listen is the address of the local Azure, "" for the one it had before or a
	// free port of 127.0.0.1.
	Listen string
	// Proxy is the address of the proxy that stands for Azure's public names, ""
	// for none.
	Proxy string
	// Clients are the applications that may log in; nil lets every one.
	Clients []azuresim.Client
	// Faults are the rules by which the local Azure fails at first.
	Faults fault.File
	// Bare leaves Cluster API and casement out, for clusterctl to install. Their
	// Deployments run as processes.
	Bare bool
	// Audit notes what casement's manager asks of the management API server.
	Audit bool
	// AzureOf, when set, is the state directory of the plane whose local Azure is
	// used instead of an own one.
	AzureOf Dir
	// OnStatus, when set, is told of each change of the status.
	OnStatus func(Status)
}

// conductor is a running plane.
type conductor struct {
	opts    Options
	log     logr.Logger
	started time.Time
	stop    context.CancelCauseFunc

	mu    sync.Mutex
	phase string
	err   error
	steps []Step

	management *management
	azure      *azure
	borrowed   *Azure // instead of azure
}

// errStopped is the cause of an end that was asked for.
var errStopped = errors.New("asked to stop")

// Run runs the plane until ctx ends or it is asked to stop. Everything that it
// started has ended when it returns; the state stays.
func Run(ctx context.Context, opts Options) error {
	if err := opts.Dir.Make(); err != nil {
		return err
	}
	lock, err := opts.Dir.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := opts.settleKind(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log := logr.FromSlogHandler(slog.NewTextHandler(opts.Log, nil))
	// The libraries below log through these globals; there is one plane per process.
	klog.SetLogger(log.WithName("klog"))
	ctrl.SetLogger(log)
	c := &conductor{opts: opts, log: log, started: time.Now(), stop: cancel, phase: PhaseStarting}
	control, err := c.serveControl()
	if err != nil {
		return err
	}
	defer control.Close()

	err = c.run(ctx)
	if errors.Is(context.Cause(ctx), errStopped) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// run starts the parts in order, waits and ends them in reverse order.
func (c *conductor) run(ctx context.Context) (err error) {
	var closers []func(context.Context)
	defer func() {
		if err != nil && ctx.Err() == nil {
			c.log.Error(err, "the plane failed")
		}
		c.setPhase(PhaseStopping, err)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		for _, stop := range slices.Backward(closers) {
			stop(end)
		}
	}()
	failed := make(chan error, 8)
	for _, part := range c.parts() {
		done := c.beginStep(part.name)
		stop, err := part.start(ctx, failed)
		if stop != nil {
			closers = append(closers, stop)
		}
		if err != nil {
			c.setPhase(PhaseFailed, err)
			return fmt.Errorf("%s: %w", part.name, err)
		}
		done()
	}
	c.setPhase(PhaseReady, nil)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-failed:
		return err
	}
}

// part is what the plane starts in one step.
type part struct {
	name  string
	start func(context.Context, chan<- error) (func(context.Context), error)
}

// parts are started in this order.
func (c *conductor) parts() []part {
	azure, management := part{"local Azure (simulated)", c.startAzure}, part{"management etcd and API server", c.startManagement}
	if c.opts.AzureOf != "" {
		azure = part{"local Azure of " + string(c.opts.AzureOf), c.borrowAzure}
	}
	switch {
	case c.opts.AzureOnly:
		return []part{azure}
	case c.opts.Bare:
		return []part{azure, management, {"cert-manager (stand-in) and pods as processes", c.startBare}}
	}
	return []part{azure, management, {"Cluster API and casement", c.startManagers}}
}

func (c *conductor) beginStep(name string) (done func()) {
	start := time.Now()
	c.mu.Lock()
	c.steps = append(c.steps, Step{Name: name})
	i := len(c.steps) - 1
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		c.steps[i].Done, c.steps[i].Seconds = true, time.Since(start).Seconds()
		c.mu.Unlock()
		c.log.Info("started", "part", name, "seconds", time.Since(start).Seconds())
		c.notify()
	}
}

func (c *conductor) setPhase(phase string, err error) {
	c.mu.Lock()
	c.phase = phase
	if err != nil {
		c.err = err
	}
	c.mu.Unlock()
	c.notify()
}

func (c *conductor) notify() {
	if c.opts.OnStatus != nil {
		c.opts.OnStatus(c.status())
	}
}

func (c *conductor) status() Status {
	c.mu.Lock()
	s := Status{Phase: c.phase, PID: os.Getpid(), Started: c.started, Bare: c.opts.Bare, Steps: slices.Clone(c.steps), Simulated: simulated}
	if c.opts.Bare {
		s.Simulated = append(slices.Clone(simulated), bareSimulated...)
	}
	if c.err != nil {
		s.Error = c.err.Error()
	}
	azure, management, borrowed := c.azure, c.management, c.borrowed
	c.mu.Unlock()
	if borrowed != nil {
		s.Azure = *borrowed
	}
	for _, d := range standin.List() {
		s.StandIns = append(s.StandIns, StandIn{Name: d.Name, Does: d.Does})
	}
	if azure != nil {
		azure.describe(&s)
	}
	if management != nil {
		management.describe(&s)
	}
	return s
}

// simulated is what of the plane is not real.
var simulated = []string{
	"Azure (ARM, its network and its VMs)",
	"containers (each answers on its ports with a page that says so)",
	"kubelets (they really join, register and report)",
}
