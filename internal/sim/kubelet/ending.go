package kubelet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ending is a pod on its way out. Its containers run on, and answer, until their
// preStop hooks are done or the grace period is over.
type ending struct {
	since  time.Time
	hooks  <-chan struct{} // closed when they are done
	cancel context.CancelFunc
}

// left returns how long the containers may still run.
func (e *ending) left(now time.Time, grace time.Duration) time.Duration {
	select {
	case <-e.hooks:
		return 0
	default:
		return max(grace-now.Sub(e.since), 0)
	}
}

// gracePeriod returns the time that a pod has to end: what its deletion says, else its
// spec.
func gracePeriod(pod *corev1.Pod) time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = *s
	}
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		seconds = *s
	}
	return time.Duration(seconds) * time.Second
}

// evict ends a pod that the kubelet does not let run on.
func (w *worker) evict(ctx context.Context, pod *corev1.Pod, kind string, v verdict) {
	w.verdict = v
	w.event(ctx, kind, v.reason, v.message, "")
	w.settle(ctx, pod)
}

// over reports whether a pod's containers have done what they were to do, so that those beside them are stopped.
func (w *worker) over(pod *corev1.Pod) bool {
	if w.static {
		return false
	}
	inits, mains := w.views()
	return terminal(phase(&pod.Spec, inits, mains, false))
}

// settle ends what a pod that is over still has: containers, address, share of the node.
func (w *worker) settle(ctx context.Context, pod *corev1.Pod) {
	w.stopAll(ctx, pod)
	w.release(pod)
	w.sandbox.ready, w.settled = false, true
	w.k.pods.leaves(w.uid)
}

// stopAll stops the containers that run, sidecars last and in the opposite order of their start.
func (w *worker) stopAll(ctx context.Context, pod *corev1.Pod) {
	w.k.hide(w)
	for _, c := range slices.Backward(w.containers) {
		if c.run != nil {
			w.event(ctx, corev1.EventTypeNormal, "Killing", "Stopping container "+c.spec.Name, c.fieldPath())
			c.stop(ctx, w.k.c.Clock, gracePeriod(pod))
		}
	}
}

// release gives back the address of a pod's own.
func (w *worker) release(pod *corev1.Pod) {
	if w.sandbox.ip.IsValid() && !w.k.onHostNetwork(pod) {
		w.k.pods.release(w.sandbox.ip, w.uid)
	}
}

// beginEnd runs the preStop hooks of all running containers at once, as a kubelet does.
func (w *worker) beginEnd(ctx context.Context, pod *corev1.Pod) *ending {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	e := &ending{since: w.k.c.Clock.Now(), hooks: done, cancel: cancel}
	var hooks sync.WaitGroup
	running := 0
	for _, c := range w.containers {
		if l := c.spec.Lifecycle; c.run != nil && l != nil && l.PreStop != nil {
			running++
			w.k.c.Wall.Go(&hooks, "preStop hook", func() { w.preStop(ctx, pod, c) })
		}
	}
	if running == 0 {
		close(done)
		return e
	}
	w.k.c.Wall.Go(&w.k.pods.running, "pod", func() {
		hooks.Wait()
		close(done)
		w.signal()
	})
	return e
}

// preStop runs one hook. An HTTP or TCP hook is answered by the simulated container
// itself, and therefore at once.
func (w *worker) preStop(ctx context.Context, pod *corev1.Pod, c *container) {
	hook := c.spec.Lifecycle.PreStop
	switch {
	case hook.Sleep != nil:
		w.k.sleep(ctx, time.Duration(hook.Sleep.Seconds)*time.Second)
	case hook.Exec != nil && w.k.c.Exec != nil && !w.static:
		spec, err := w.execSpec(ctx, pod, c, hook.Exec.Command)
		if err == nil {
			var code int
			if code, err = w.k.c.Exec(ctx, spec); err == nil && code != 0 {
				err = fmt.Errorf("command %q exited with %d", hook.Exec.Command, code)
			}
		}
		if err != nil && ctx.Err() == nil {
			w.k.log.Error("PreStopHook failed", "pod", w.namespace+"/"+w.name, "container", c.spec.Name, "err", err)
		}
	}
}
