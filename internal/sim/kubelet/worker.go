package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/guestfs"
)

// worker brings one pod from its current to its desired state, one step at a time, in one goroutine
// that sleeps while nothing changes.
type worker struct {
	k               *Kubelet
	uid             types.UID
	namespace, name string
	static          bool
	mu              sync.Mutex
	pod             *corev1.Pod // most recent version
	preempted       bool        // it must make room for a critical pod
	gone            bool        // deleted from the API server, or its manifest was deleted
	wake            chan struct{}
	shown           atomic.Pointer[snapshot] // for the HTTPS API

	// Used only by run.
	containers []*container
	sandbox    sandbox
	admitted   bool
	verdict    verdict          // why the kubelet has ended the pod; empty if it has not
	status     corev1.PodStatus // as computed by the last step
	written    *corev1.PodStatus
	version    string // resource version of the pod after the last write of its status
	mirror     types.UID
	events     map[event]bool     // events already written
	started    []*container       // containers whose start has no event yet
	pulled     map[string]verdict // results of pulling the images of volumes in this step
	ending     *ending            // nil until the pod must end
	delayed    verdict            // why the requested resources are delayed: Deferred or Infeasible
	deleted    bool               // the API server knows that the pod has ended
	settled    bool               // nothing of the pod runs or will run
	finished   bool
	sources    sources
	account    func(context.Context) (*rest.Config, error) // shared by all its containers; nil before the first use
	volumes    volumes
}

// sandbox is the pod's network and volumes.
type sandbox struct {
	ready   bool
	ip      netip.Addr
	ports   []int32 // ports announced to the network
	exposed bool
}

// snapshot is the state of a worker that the kubelet's HTTPS API shows.
type snapshot struct {
	pod        *corev1.Pod
	status     corev1.PodStatus
	containers []*container
}

func newWorker(k *Kubelet, pod *corev1.Pod) *worker {
	w := &worker{k: k, uid: pod.UID, namespace: pod.Namespace, name: pod.Name, pod: pod,
		wake: make(chan struct{}, 1), events: map[event]bool{}, status: *pod.Status.DeepCopy()}
	w.containers = k.newContainers(pod)
	// A pod that an earlier run of the kubelet ended keeps its status; a refused pod had none.
	w.settled = terminal(pod.Status.Phase) && len(pod.Status.ContainerStatuses) > 0
	w.volumes = volumes{w: w, tokens: map[string]volumeToken{}, claims: map[string]guestfs.Folder{}, taken: map[string]bool{}}
	return w
}

func (w *worker) update(pod *corev1.Pod) {
	w.mu.Lock()
	w.pod = pod
	w.mu.Unlock()
	w.signal()
}

func (w *worker) remove() {
	w.mu.Lock()
	w.gone = true
	w.mu.Unlock()
	w.signal()
}

func (w *worker) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *worker) current() (*corev1.Pod, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod, w.gone
}

// run executes steps until the pod is finished or ctx ends. Containers outlive ctx, as they outlive
// a kubelet; only the state of this process ends with ctx.
func (w *worker) run(ctx context.Context) {
	w.adopt(ctx)
	for {
		again := w.step(ctx)
		if w.awaitInitEnd() {
			again = time.Millisecond // write only the next state, because this one has already ended
		} else {
			w.recordStarted(ctx)
			w.publish(ctx)
		}
		if w.finished || ctx.Err() != nil {
			break
		}
		if !w.rest(ctx, again) {
			break
		}
	}
	if w.ending != nil {
		w.ending.cancel()
	}
	if !w.finished && !w.static {
		w.k.runtime.leave(w)
	}
}

// initEnd is the time for which a worker waits for the end of an init container before it writes
// that the container runs: most init programs end immediately.
const initEnd = 50 * time.Millisecond

// awaitInitEnd waits for up to initEnd for the end of a running init container, and reports whether one
// has ended.
func (w *worker) awaitInitEnd() bool {
	for _, c := range w.containers {
		if !c.init || c.sidecar || c.run == nil || w.static {
			continue
		}
		moment := w.k.c.Clock.NewTimer(initEnd)
		defer moment.Stop()
		select {
		case <-c.run.done:
			return true
		case <-moment.C():
			return false
		}
	}
	return false
}

// rest waits for a change, but not longer than d.
func (w *worker) rest(ctx context.Context, d time.Duration) bool {
	var due <-chan time.Time
	if d > 0 {
		t := w.k.c.Clock.NewTimer(d)
		defer t.Stop()
		due = t.C()
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.wake:
	case <-due:
	}
	return true
}

// step does all work that is possible now and returns the delay of the next step without a wake-up;
// zero means never.
func (w *worker) step(ctx context.Context) time.Duration {
	pod, gone := w.current()
	if gone || pod.DeletionTimestamp != nil {
		return w.terminate(ctx, pod, gone)
	}
	if terminal(w.status.Phase) {
		return 0
	}
	if w.static {
		w.k.pods.keep(pod, verdict{})
	} else if !w.admitted {
		var waits bool
		w.verdict, waits = w.k.pods.admit(ctx, pod)
		if w.verdict.reason != "" {
			w.event(ctx, corev1.EventTypeWarning, w.verdict.reason, w.verdict.message, "")
			return 0
		}
		if waits {
			return roomPeriod
		}
		w.admitted = true
	}
	if why, evicted := w.evicted(pod); evicted {
		w.evict(ctx, pod, corev1.EventTypeWarning, why)
		return 0
	}
	w.addEphemeral(pod)
	if w.isPreempted() {
		w.evict(ctx, pod, corev1.EventTypeWarning, verdict{preempting, "Preempted in order to admit critical pod"})
		return 0
	}
	resize := w.resize(ctx, pod)
	deadline, over := w.deadline(pod)
	if over {
		w.evict(ctx, pod, corev1.EventTypeNormal, verdict{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"})
		return 0
	}
	again := w.advance(ctx, pod)
	if w.over(pod) {
		w.settle(ctx, pod)
		return 0
	}
	return sooner(sooner(again, deadline), resize)
}

// roomPeriod is the interval at which a critical pod checks whether other pods have made room.
const roomPeriod = 200 * time.Millisecond

func (w *worker) isPreempted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.preempted
}

// addEphemeral adds the ephemeral containers that were added to the pod.
func (w *worker) addEphemeral(pod *corev1.Pod) {
	for _, e := range pod.Spec.EphemeralContainers {
		if slices.ContainsFunc(w.containers, func(c *container) bool { return c.spec.Name == e.Name }) {
			continue
		}
		c := w.k.newContainer(corev1.Container(e.EphemeralContainerCommon), ephemeral, "ContainerCreating")
		w.containers = append(slices.Clone(w.containers), c) // the HTTPS API may be reading the old list
	}
}

// advance does all work that is possible now for a pod that should run.
func (w *worker) advance(ctx context.Context, pod *corev1.Pod) time.Duration {
	if !w.sandbox.ready {
		if again := w.prepare(ctx, pod); again > 0 {
			return again
		}
	}
	return w.runContainers(ctx, pod)
}

// prepare creates the volumes and the network; it returns the delay of the next attempt.
func (w *worker) prepare(ctx context.Context, pod *corev1.Pod) time.Duration {
	// A kubelet waits for the network before it mounts volumes.
	if problem := w.k.node.networkProblem(); problem != "" && !w.k.onHostNetwork(pod) {
		w.event(ctx, corev1.EventTypeWarning, "NetworkNotReady", "network is not ready: "+problem, "")
		return 5 * time.Second
	}
	if !w.static {
		var again time.Duration
		for _, err := range w.volumes.mount(ctx, pod) {
			if errors.Is(err, errAttaching) {
				again = time.Second
				continue
			}
			again = 2 * time.Second
			w.event(ctx, corev1.EventTypeWarning, "FailedMount", err.Error(), "")
		}
		if again > 0 {
			return again
		}
	}
	if err := w.k.hostProcessOff(pod); err != nil {
		w.event(ctx, corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error(), "")
		return 10 * time.Second
	}
	if _, cut := w.k.dns(pod); cut != "" {
		w.event(ctx, corev1.EventTypeWarning, "DNSConfigForming", cut, "")
	}
	if err := w.k.refuseSandbox(pod); err != nil && !w.static {
		w.event(ctx, corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error(), "")
		return 10 * time.Second
	}
	if w.k.onHostNetwork(pod) {
		w.sandbox.ip = w.k.c.InternalIP
		w.sandbox.ready = true
		return 0
	}
	if problem := w.k.sandboxProblem(); problem != "" {
		w.event(ctx, corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+problem, "")
		return 5 * time.Second
	}
	if !w.sandbox.ip.IsValid() {
		ip, err := w.k.pods.allocate(ctx, pod)
		if err != nil {
			w.event(ctx, corev1.EventTypeWarning, "FailedCreatePodSandBox", fmt.Sprintf("Failed to create pod "+
				"sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: %v", err), "")
			return 2 * time.Second
		}
		w.sandbox.ip = ip
	}
	w.sandbox.ready = true
	return 0
}

// runContainers starts the containers that should run, in the pod's order.
func (w *worker) runContainers(ctx context.Context, pod *corev1.Pod) time.Duration {
	var again time.Duration
	earlier := func(d time.Duration) {
		if d > 0 && (again == 0 || d < again) {
			again = d
		}
	}
	w.pulled = nil
	for _, c := range w.containers {
		c.collect(w.k.c.Clock.Now())
	}
	for _, c := range w.containers {
		if c.done(pod) {
			continue
		}
		if c.blocked(w.containers) {
			continue
		}
		earlier(w.startDue(ctx, pod, c))
	}
	for _, c := range w.containers {
		earlier(w.probe(ctx, pod, c))
	}
	if !w.sandbox.exposed && slices.ContainsFunc(w.containers, func(c *container) bool { return c.run != nil }) {
		w.k.expose(w, pod)
	}
	return again
}

// startDue starts a container that is not running, unless it is backing off.
func (w *worker) startDue(ctx context.Context, pod *corev1.Pod, c *container) time.Duration {
	if c.run != nil {
		return 0
	}
	if wait := c.notBefore.Sub(w.k.c.Clock.Now()); wait > 0 {
		c.showBackoff(pod)
		w.backoffEvent(ctx, c)
		return wait
	}
	w.start(ctx, pod, c)
	if c.run == nil {
		return max(c.notBefore.Sub(w.k.c.Clock.Now()), time.Millisecond)
	}
	return 0
}

// hungPeriod is the time after which the kubelet tries again to stop a pod whose shim hangs.
const hungPeriod = time.Minute

// runs reports whether a container of the pod is running.
func (w *worker) runs() bool {
	return slices.ContainsFunc(w.containers, func(c *container) bool { return c.run != nil })
}

// terminate waits for the preStop hooks, then stops the containers and, after their end, deletes
// the pod from the API server. It returns the time that the hooks have left.
func (w *worker) terminate(ctx context.Context, pod *corev1.Pod, gone bool) time.Duration {
	grace := gracePeriod(pod)
	if w.ending == nil {
		w.ending = w.beginEnd(ctx, pod)
	}
	if left := w.ending.left(w.k.c.Clock.Now(), grace); left > 0 && !gone {
		return left
	}
	if w.deleted && !gone {
		return 0
	}
	if !gone && !w.static && w.k.c.Health().ShimHangs && w.runs() {
		return hungPeriod
	}
	w.recordFailedHooks(ctx)
	w.ending.cancel()
	w.stopAll(ctx, pod)
	if ctx.Err() != nil {
		return 0
	}
	w.release(pod)
	w.sandbox.ready, w.settled = false, true
	if gone {
		w.finished = true
		w.k.removeFiles(w)
		return 0
	}
	w.publish(ctx)
	err := w.k.api.Load().core.Pods(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &w.uid}})
	if err == nil {
		w.deleted = true // the API server deletes it after its finalizers
		return 0
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		w.finished = true
		w.k.removeFiles(w)
		return 0
	}
	w.k.log.Error("Failed to delete pod", "pod", w.namespace+"/"+w.name, "err", err)
	return time.Second
}
