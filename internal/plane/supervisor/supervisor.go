// Package supervisor runs a local plane: one process that contains Cluster API's managers, casement's own manager, the
// local Azure, its guests and the simulated kubelets, and that supervises the etcd and Kubernetes processes.
//
// It only connects the provider and the simulator, which do not depend on each other, and has no domain logic of its
// own. It never runs anything as root, and uses only its state directory and addresses of 127.0.0.0/8. It runs on
// Linux; only internal/cli and tests may import it.
package supervisor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sim/pull"
	"casement.dev/casement/internal/sim/stub"
	"casement.dev/casement/internal/tuning"
)

// Options are the options of a plane.
type Options struct {
	Dir plane.Dir
	// Log receives the plane's log.
	Log io.Writer
	// Verbosity is the highest V(level) that is logged.
	Verbosity int
	// Latency is the factor for the durations of Azure's operations; with zero they end immediately.
	Latency float64
	// Throttle is the factor for the request limits of the local Azure: 0 means no limits, 1 Azure's own limits.
	Throttle float64
	// AzureOnly runs only the local Azure and its guests, without Kubernetes.
	AzureOnly bool
	// Listen is the address of the local Azure; "" means its previous address, or a free port of 127.0.0.1.
	Listen string
	// FeatureGates are Cluster API's feature gates, as NAME=true,NAME=false, in addition to the gates that the plane
	// sets itself.
	FeatureGates string
	// Upstream runs Cluster API as upstream ships it, without the differences that capi.Differences lists.
	Upstream bool
	// Charts is a directory of Helm charts that replaces the repositories of HelmChartProxies; "" means none.
	Charts string
	// Proxy is the address of the proxy for Azure's public names; "" means none.
	Proxy string
	// Clients are the applications that may log in; nil permits all.
	Clients []azuresim.Client
	// Faults are the initial fault rules of the local Azure.
	Faults fault.File
	// Bare starts the plane without Cluster API and casement, which clusterctl then installs. Their Deployments run as processes.
	Bare bool
	// Images is the rule for the container images that simulated nodes can pull.
	Images pull.Policy
	// ManagementRoute lets guests connect to the management API server.
	ManagementRoute bool
	// AuditOf is the user whose requests the management API server logs, or kubeproc.Everyone; "" means none.
	AuditOf string
	// AzureOf, if set, is the state directory of the plane whose local Azure is used instead of an own one.
	AzureOf plane.Dir
	// Outside, if set, is the Azure that is used instead of a local one.
	Outside *Outside
	// OnStatus, if set, is called at each change of the status.
	OnStatus func(plane.Status)
	// OnPanic, if set, is called for the first fault of the simulation with each cause and VM, with the VM's resource
	// ID, if there is no object for an event.
	OnPanic func(id string, p *contain.Panic)
}

// supervisor is a running plane.
type supervisor struct {
	opts    Options
	log     logr.Logger
	started time.Time
	stop    context.CancelCauseFunc

	mu    sync.Mutex
	phase string
	err   error
	steps []plane.Step
	// waiting is the condition that the current step waits for.
	waiting  string
	notices  []string
	restarts map[string]plane.Restart

	management *management
	azure      *azure
	borrowed   *plane.Azure // used instead of azure
	// machineEvents records events of objects in the management cluster; nil until the managers are created.
	machineEvents *machineEvents
}

// errStopped is the cause of the context after a requested stop.
var errStopped = errors.New("asked to stop")

// logger returns a logger that writes messages up to Verbosity to Log. logr's V(4) is slog's level -4; klog has its own level.
func (o Options) logger() (logr.Logger, error) {
	level := &slog.HandlerOptions{Level: slog.Level(-o.Verbosity)}
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	err := flags.Set("v", strconv.Itoa(o.Verbosity))
	return logr.FromSlogHandler(slog.NewTextHandler(o.Log, level)), err
}

// Run runs the plane until ctx ends or a stop is requested. All processes that it started
// have ended when it returns; the state is kept.
func Run(ctx context.Context, opts Options) error {
	if err := opts.Dir.Make(); err != nil {
		return err
	}
	lock, err := opts.Dir.Lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tuning.Follow(tuning.Roomy)
	log, err := opts.logger()
	if err != nil {
		return err
	}
	// The libraries below log through these globals; there is one plane per process.
	klog.SetLogger(log.WithName("klog"))
	ctrl.SetLogger(log)
	c := &supervisor{opts: opts, log: log, started: time.Now(), stop: cancel, phase: plane.PhaseStarting}
	control, err := c.open()
	if err != nil {
		c.setPhase(plane.PhaseFailed, err)
		return err
	}
	defer control.Close()
	// Run waits for the end of this goroutine, so that it does not write to the directory of a later plane.
	var snapshots sync.WaitGroup
	defer snapshots.Wait()
	defer cancel(nil)
	snapshots.Go(func() { c.keepSnapshot(ctx) })

	err = c.run(ctx)
	if errors.Is(context.Cause(ctx), errStopped) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// open cleans up after an earlier run and serves the control socket.
func (s *supervisor) open() (*http.Server, error) {
	if err := errors.Join(s.opts.settleKind(), s.opts.settleOutside()); err != nil {
		return nil, err
	}
	orphans, err := s.opts.Dir.Records().EndOrphans()
	if err != nil {
		return nil, err
	}
	if len(orphans) > 0 {
		s.notice("an earlier run left processes, which were ended: %s", plane.Listed(orphans))
	}
	return s.serveControl()
}

// notice adds a message for the plane's owner to the status.
func (s *supervisor) notice(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.log.Info(text)
	s.mu.Lock()
	s.notices = append(s.notices, text)
	s.mu.Unlock()
}

// run starts the parts in order, waits, and ends them in reverse order.
func (s *supervisor) run(ctx context.Context) (err error) {
	var closers []func(context.Context)
	defer func() {
		if err != nil && ctx.Err() == nil {
			s.log.Error(err, "the plane failed")
		}
		s.setPhase(plane.PhaseStopping, err)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		for _, stop := range slices.Backward(closers) {
			stop(end)
		}
	}()
	failed := make(chan error, 8)
	for _, part := range s.parts() {
		done := s.beginStep(part.name)
		stop, err := part.start(ctx, failed)
		if stop != nil {
			closers = append(closers, stop)
		}
		if err != nil {
			s.setPhase(plane.PhaseFailed, err)
			return fmt.Errorf("%s: %w", part.name, err)
		}
		done()
	}
	s.setPhase(plane.PhaseReady, nil)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-failed:
		return err
	}
}

// part is a part of the plane that is started in one step.
type part struct {
	name  string
	start func(context.Context, chan<- error) (func(context.Context), error)
}

// parts returns the parts in the order of their start.
func (s *supervisor) parts() []part {
	azure, management := part{"local Azure (simulated)", s.startAzure}, part{"management etcd and API server", s.startManagement}
	if s.opts.AzureOf != "" {
		azure = part{"local Azure of " + string(s.opts.AzureOf), s.borrowAzure}
	}
	switch {
	case s.opts.Outside != nil:
		return []part{{"Azure of the environment", s.useOutside}, management, {"Cluster API and casement", s.startManagers}}
	case s.opts.AzureOnly:
		return []part{azure, {resumeStep, s.resumeGuests}}
	case s.opts.Bare:
		return []part{azure, management, {"cert-manager (stub) and pods as processes", s.startBare}, {resumeStep, s.resumeGuests}}
	}
	return []part{azure, management, {"Cluster API and casement", s.startManagers}, {resumeStep, s.resumeGuests}}
}

// resumeStep is the last step, so that the guests' control planes do not compete with the management plane for
// processor time.
const resumeStep = "machines of an earlier run"

// resumeGuests lets the guests of an earlier run start; their start continues in the background.
func (s *supervisor) resumeGuests(ctx context.Context, _ chan<- error) (func(context.Context), error) {
	s.mu.Lock()
	azure := s.azure
	s.mu.Unlock()
	if azure == nil {
		return nil, nil // the Azure of another plane
	}
	azure.machines.Resume(ctx, func(begun, all int) { s.log.Info("machines of an earlier run start", "begun", begun, "all", all) })
	return nil, nil
}

func (s *supervisor) beginStep(name string) (done func()) {
	start := time.Now()
	s.mu.Lock()
	s.steps = append(s.steps, plane.Step{Name: name})
	i := len(s.steps) - 1
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		s.steps[i].Done, s.steps[i].Seconds, s.waiting = true, time.Since(start).Seconds(), ""
		s.mu.Unlock()
		s.log.Info("started", "part", name, "seconds", time.Since(start).Seconds())
		s.notify()
	}
}

func (s *supervisor) setPhase(phase string, err error) {
	s.mu.Lock()
	s.phase = phase
	if err != nil {
		s.err = err
	}
	s.mu.Unlock()
	s.notify()
}

func (s *supervisor) notify() {
	status := s.status()
	s.writeSnapshot(status)
	if s.opts.OnStatus != nil {
		s.opts.OnStatus(status)
	}
}

func (s *supervisor) status() plane.Status {
	s.mu.Lock()
	out := plane.Status{Phase: s.phase, PID: os.Getpid(), Started: s.started, Bare: s.opts.Bare,
		Steps: slices.Clone(s.steps), Simulated: s.opts.simulatedHere()}
	out.Waiting, out.Notices = s.waiting, slices.Clone(s.notices)
	for _, name := range slices.Sorted(maps.Keys(s.restarts)) {
		out.Restarts = append(out.Restarts, s.restarts[name])
	}
	if s.err != nil {
		out.Error = s.err.Error()
	}
	azure, management, borrowed := s.azure, s.management, s.borrowed
	s.mu.Unlock()
	if borrowed != nil {
		out.Azure = *borrowed
	}
	for _, d := range stub.List() {
		if s.opts.Outside != nil {
			break // an outside Azure has real machines
		}
		out.Stubs = append(out.Stubs, plane.Stub{Name: d.Name, Does: d.Does})
	}
	if azure != nil {
		azure.describe(&out)
	}
	if management != nil {
		management.describe(&out)
		if !s.opts.Bare {
			out.Kubernetes.ClusterAPI = capi.Describe(s.opts.Upstream)
		}
	}
	return out
}

// simulated lists the parts of the plane that are simulated.
var simulated = []string{
	"Azure (ARM, its network and its VMs)",
	"containers (each answers on its ports with a page that says so)",
	"kubelets (they really join, register and report)",
}
