package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/explain"
	"casement.dev/casement/internal/diagnose/rollout"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/terminal"
)

func NewWait(a *app.App) *cobra.Command {
	var t app.Target
	var timeout time.Duration
	var what string
	c := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a cluster is available and all its nodes are ready",
		Long: `Wait until the cluster's Available condition is True, every machine that is asked
for has a Ready node and none of an old template is left, or with --for deleted
until the cluster is gone. A status that is older than its spec does not count: a
wait right after a scale or an upgrade waits for it. In the local plane the cluster's
VMs must also run and its API server answer: after a restart of the plane the statuses
are those of the run before. On a terminal the steps are
drawn over each other, elsewhere each change is a line. When nothing changes for a
while, the first cause that why gives is shown. A management API server that is too busy
to answer is asked again. The exit code is 3 when the time runs
out, and 130 after Ctrl-C, which ends the wait and nothing else.`,
		Example: "  casement wait demo\n  casement wait demo --for deleted --timeout 5m",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if what != "ready" && what != "deleted" {
				return app.Usagef("--for is ready or deleted, not %q", what)
			}
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			w := &waited{key: client.ObjectKey{Namespace: t.Namespace, Name: args[0]}, deleted: what == "deleted",
				start: time.Now(), changed: time.Now(), causes: make(chan determined, 1)}
			if a.AsksPlane(t.Kubeconfig) {
				w.plane = plane.NewClient(a.Dir)
			}
			return wait(ctx, a, t, c, w)
		},
	}
	t.AddFlags(c)
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "give up after this long (exit code 3)")
	c.Flags().StringVar(&what, "for", "ready", "ready or deleted")
	return c
}

// waited is the state of one wait for a cluster.
type waited struct {
	key     client.ObjectKey
	deleted bool
	// plane is the local plane that has the cluster's VMs; nil for a cluster elsewhere.
	plane *plane.Client
	start time.Time
	// missing describes the part that was missing at the last read of the status; view shows that status in the terminal.
	missing string
	view    terminal.View
	// answered is true once the management API server has responded; heard is the time of its last response.
	answered bool
	heard    time.Time
	// machines are the machines of the last read, which was at the time read.
	machines []clusterv1.Machine
	read     time.Time
	// changed is the time at which a step last changed.
	changed time.Time
	// causes receives the first cause that casement why finds; it is not determined again before the time again.
	causes chan determined
	again  time.Time
	cause  string
}

// determined is the first cause as one line, "" if there is none, and the time that it took to determine it.
type determined struct {
	cause string
	took  time.Duration
}

// Reads cost the API server more than this process: the pause after a read grows with the read's duration, and the time
// until all machines are read again grows with their number.
const (
	shortestPause = 250 * time.Millisecond
	longestPause  = 5 * time.Second
	perMachine    = 40 * time.Millisecond
)

// The cause is determined when nothing has changed for stalled plus, for each machine, the time that the machine list
// is cached, because the counts of many machines change in larger steps. Determining it reads all objects of both
// clusters, so it may use at most 1/perCause of the time.
const (
	stalled  = 10 * time.Second
	perCause = 50
)

func wait(ctx context.Context, a *app.App, t app.Target, c client.Client, w *waited) error {
	key, deleted := w.key, w.deleted
	progress := terminal.NewProgress(terminal.NewScreen(a.Raw.Out))
	for {
		began := time.Now()
		view, missing, err := w.observe(ctx, c)
		next := min(max(shortestPause, 4*time.Since(began)), longestPause)
		switch {
		case absent(err) && deleted:
			progress.End(terminal.View{Elapsed: time.Since(w.start)},
				fmt.Sprintf("Cluster %s is gone, after %s.", key.Name, app.Rounded(w.start)), "")
			return nil
		case absent(err):
			progress.Clear()
			return fmt.Errorf("there is no cluster %s", key)
		case err != nil && ctx.Err() == nil && !overdue(ctx):
			if !w.unanswered(ctx, err) {
				progress.Clear()
				return err
			}
			waits := err.Error()
			if !errors.Is(err, plane.ErrNoAnswer) {
				waits = "the management API server does not answer: " + waits
			}
			w.missing = cmp.Or(w.missing, waits)
			view = w.view
			view.Title, view.Elapsed, view.Waits = w.title(), time.Since(w.start), app.Sentence(waits)
			progress.Show(view)
		case err == nil && missing == "" && !deleted:
			progress.End(view,
				fmt.Sprintf("Cluster %s is ready, after %s: %s.", key.Name, app.Rounded(w.start), view.Title),
				a.Suited("Next: casement get kubeconfig "+named(key)+" --file "+key.Name+".kubeconfig"))
			return nil
		case err == nil:
			w.answered, w.heard = true, time.Now()
			w.note(view, missing)
			startCause(ctx, a, t, c, w)
			view.Title, view.Waits, view.Cause = w.title(), app.Sentence(missing), w.cause
			progress.Show(view)
		}
		select {
		case <-ctx.Done():
			progress.Clear()
			return w.cut(ctx)
		case answer := <-w.causes:
			w.cause, w.again = answer.cause, time.Now().Add(max(stalled, perCause*answer.took))
		case <-time.After(next):
		}
	}
}

// named returns a cluster in the form in which commands name it.
func named(key client.ObjectKey) string {
	if key.Namespace == "default" {
		return key.Name
	}
	return key.Name + " -n " + key.Namespace
}

func (w *waited) title() string {
	if w.deleted {
		return "Waiting until cluster " + w.key.Name + " is gone"
	}
	return "Waiting for cluster " + w.key.Name
}

// note records a view, and the time if a step has changed.
func (w *waited) note(view terminal.View, missing string) {
	if !slices.Equal(view.Steps, w.view.Steps) {
		w.changed, w.cause = time.Now(), ""
	}
	w.view, w.missing = view, missing
}

// kept returns the time for which the list of machines is not read again.
func (w *waited) kept() time.Duration { return time.Duration(len(w.machines)) * perMachine }

// startCause starts to determine the first cause if nothing has changed for stalled. It does not wait for the result.
func startCause(ctx context.Context, a *app.App, t app.Target, c client.Client, w *waited) {
	if time.Since(w.changed) < stalled+w.kept() || time.Now().Before(w.again) {
		return
	}
	began := time.Now()
	w.again = began.Add(time.Hour) // until the result arrives
	go func() {
		w.causes <- determined{cause(ctx, a, t, c, w), time.Since(began)}
	}()
}

// cause returns the first cause that casement why finds; "" if there is none or it cannot be read now.
func cause(ctx context.Context, a *app.App, t app.Target, c client.Client, w *waited) string {
	_, answer, err := explain.Judged(ctx, a, t, c, explain.ClusterObject(w.key.Namespace, w.key.Name))
	if err != nil {
		return "" // the next read reports it
	}
	switch {
	case answer.Healthy, answer.Waiting && w.deleted:
		return ""
	case answer.Waiting:
		return answer.Means.Says
	}
	return fmt.Sprintf("%s at %s: %s", answer.Name(), answer.At, answer.Means.Says)
}

// cut returns the error of a wait that ends before the cluster reaches the awaited state.
func (w *waited) cut(ctx context.Context) error {
	text := fmt.Sprintf("cluster %s after %s: %s", w.key.Name, time.Since(w.start).Round(time.Second),
		cmp.Or(app.Sentence(w.missing), w.unread()))
	if w.cause != "" {
		text += "\nwhy: " + w.cause
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%w\n%s\nThe cluster goes on without this command; 'casement wait %s' waits for it again",
			ctx.Err(), text, named(w.key))
	}
	return fmt.Errorf("%w: %s\nsee more: casement why %s", ctx.Err(), text, named(w.key))
}

// unread describes the missing part if the cluster's status was never read.
func (w *waited) unread() string {
	if !w.answered {
		return "nothing could be read of it: the management API server has not answered"
	}
	return "it is not deleted yet"
}

// unanswered reports whether err only means that the management API server or the local plane did not respond in time
// or is overloaded, so that the wait continues. A refused connection counts only after a first response: before that,
// the address may be wrong.
func (w *waited) unanswered(ctx context.Context, err error) bool {
	if errors.Is(err, plane.ErrNoAnswer) {
		return true // the plane is running, and a second request would not be answered earlier
	}
	if w.plane != nil {
		if _, stopped := w.plane.Status(ctx); errors.Is(stopped, plane.ErrNotRunning) {
			return false
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return true
	}
	if apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) {
		return true
	}
	if (w.plane != nil || w.answered && time.Since(w.heard) < restartTime) && (apierrors.IsInternalError(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err)) {
		return true // a restarting server at first has neither its roles nor its kinds
	}
	return (w.answered || w.plane != nil) && (utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) ||
		utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err))
}

// restartTime is the time for which a management cluster elsewhere may refuse requests that it allowed before, because
// it restarts.
const restartTime = 2 * time.Minute

// absent reports whether an object does not exist. A restarting server at first does not know the object's kind, which
// is a different error.
func absent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// overdue reports whether the context's deadline is so near that the client would refuse to send a request.
func overdue(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < time.Second
}

// observe reads the cluster's progress; missing describes the part that is not ready yet.
func (w *waited) observe(ctx context.Context, c client.Client) (view terminal.View, missing string, err error) {
	o, err := rollout.ReadOwners(ctx, c, w.key)
	if err != nil {
		return view, "", err
	}
	// Until their owners are complete, the machines are only shown and are not needed for the decision.
	if w.deleted || o.MissingOfOwners() == "" || time.Since(w.read) > w.kept() {
		if w.machines, err = rollout.Machines(ctx, c, w.key); err != nil {
			return view, "", err
		}
		w.read = time.Now()
	}
	o.Machines = w.machines
	missing = o.Missing()
	if missing == "" && !w.deleted && w.plane != nil {
		status, err := w.plane.Status(ctx)
		if err != nil {
			return view, "", err
		}
		missing = resuming(o, status)
	}
	view = terminal.View{Elapsed: time.Since(w.start), Steps: w.steps(o, missing)}
	view.Title = fmt.Sprintf("%d machines, %d nodes ready", len(o.Machines), o.NodesReady())
	return view, missing, nil
}

// resuming describes the VMs of a cluster that do not run yet, or the missing API server, although all statuses are
// complete: after a restart of the plane they are still those of the previous run.
func resuming(o rollout.Objects, status plane.Status) string {
	ours := map[string]bool{}
	for i := range o.Machines {
		ours[strings.ToLower(strings.TrimPrefix(o.Machines[i].Spec.ProviderID, "azure://"))] = true
	}
	for _, g := range status.Guests {
		if ours[strings.ToLower(g.ID)] && g.Phase != plane.GuestRunning {
			return fmt.Sprintf("VM %s: it is %s", g.Name, strings.ToLower(g.Phase))
		}
	}
	endpoint := o.Cluster.Spec.ControlPlaneEndpoint
	for _, l := range status.Listeners {
		if l.Address == endpoint.String() && l.Healthy == 0 {
			return fmt.Sprintf("Cluster %s: its API server at %s does not answer", o.Cluster.Name, endpoint.String())
		}
	}
	return ""
}

// steps returns the parts of a cluster, in the order in which they become ready.
func (w *waited) steps(o rollout.Objects, missing string) []terminal.Step {
	if w.deleted {
		left := fmt.Sprintf("%d machines, %d machine deployments, %d machine pools left", len(o.Machines), len(o.Deployments), len(o.Pools))
		return []terminal.Step{{Name: "deletion", State: terminal.Now, Detail: left}}
	}
	var steps []terminal.Step
	add := func(name string, done bool, detail string) {
		state := terminal.Now
		if done {
			state = terminal.Done
		}
		steps = append(steps, terminal.Step{Name: name, State: state, Detail: detail})
	}
	ready := o.Cluster.Status.Initialization.InfrastructureProvisioned
	add("infrastructure", ready != nil && *ready, "")
	have := clusterRows([]clusterv1.Cluster{*o.Cluster})[0].ControlPlane
	if k := o.ControlPlane; k != nil {
		have = replicas(k.Status.ReadyReplicas, k.Spec.Replicas)
	}
	add("control plane", whole(have), have+" ready")
	for i := range o.Deployments {
		d := &o.Deployments[i]
		have := replicas(d.Status.ReadyReplicas, d.Spec.Replicas)
		add("workers "+d.Name, whole(have), have+" ready")
	}
	for i := range o.Pools {
		p := &o.Pools[i]
		have := replicas(p.Status.ReadyReplicas, p.Spec.Replicas)
		add("pool "+p.Name, whole(have), have+" ready")
	}
	add("available", missing == "", "")
	return steps
}

// whole reports whether a count READY/REQUESTED is complete.
func whole(have string) bool {
	ready, asked, _ := strings.Cut(have, "/")
	return ready == asked && ready != "?" && ready != "-"
}
