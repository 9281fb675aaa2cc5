package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ending is the termination of a pod. Its containers run and answer requests until their preStop
// hooks have ended or the grace period has passed.
type ending struct {
	since  time.Time
	hooks  <-chan struct{} // closed when all hooks have ended
	cancel context.CancelFunc
	failed []*hook // valid after hooks is closed
}

// hook is the preStop hook of a container, with the error if it failed.
type hook struct {
	c   *container
	err error
}

// left returns the time for which the containers may still run.
func (e *ending) left(now time.Time, grace time.Duration) time.Duration {
	select {
	case <-e.hooks:
		return 0
	default:
		return max(grace-now.Sub(e.since), 0)
	}
}

// gracePeriod returns the time that a pod has to end: the time in its deletion, or else in its
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

// evict ends a pod that the kubelet does not allow to run on.
func (w *worker) evict(ctx context.Context, pod *corev1.Pod, kind string, v verdict) {
	w.verdict = v
	w.event(ctx, kind, v.reason, v.message, "")
	w.settle(ctx, pod)
}

// over reports whether a pod's containers have finished their work, so that its sidecars are stopped.
func (w *worker) over(pod *corev1.Pod) bool {
	if w.static {
		return false
	}
	for _, c := range w.containers {
		switch {
		case c.init && !c.sidecar && c.done(pod) && c.ended.ExitCode != 0:
			return true
		case !c.init && !c.ephemeral && !c.done(pod):
			return false
		}
	}
	return true
}

// settle ends a finished pod: it stops the remaining containers and releases the address and the
// resources of the node.
func (w *worker) settle(ctx context.Context, pod *corev1.Pod) {
	w.stopAll(ctx, pod)
	w.release(pod)
	w.sandbox.ready, w.settled = false, true
	w.k.pods.dropAdmitted(w.uid)
}

// stopAll stops the running containers: first the regular ones, then the sidecars in the reverse
// order of their start.
func (w *worker) stopAll(ctx context.Context, pod *corev1.Pod) {
	w.k.hide(w)
	for _, c := range slices.Backward(w.containers) {
		if c.run != nil {
			w.event(ctx, corev1.EventTypeNormal, "Killing", "Stopping container "+c.spec.Name, c.fieldPath())
			c.stop(ctx, w.k.c.Clock, gracePeriod(pod))
		}
		if c.ended != nil {
			c.waiting = corev1.ContainerStateWaiting{} // which concerns only another run
		}
	}
}

// release releases a pod's own address.
func (w *worker) release(pod *corev1.Pod) {
	if w.sandbox.ip.IsValid() && !w.k.onHostNetwork(pod) {
		w.k.pods.release(w.sandbox.ip, w.uid)
	}
}

// beginEnd starts the preStop hooks of all running containers concurrently, as a kubelet does.
func (w *worker) beginEnd(ctx context.Context, pod *corev1.Pod) *ending {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	e := &ending{since: w.k.c.Clock.Now(), hooks: done, cancel: cancel}
	var hooks sync.WaitGroup
	running := false
	for _, c := range w.containers {
		if l := c.spec.Lifecycle; c.run != nil && l != nil && l.PreStop != nil {
			h := &hook{c: c, err: w.askHook(ctx, pod, c, l.PreStop)}
			e.failed, running = append(e.failed, h), true
			if h.err == nil {
				w.k.c.Wall.Go(&hooks, "preStop hook", func() { h.err = w.preStop(ctx, pod, c) })
			}
		}
	}
	if !running {
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

// preStop runs a preStop hook that is no HTTP request.
func (w *worker) preStop(ctx context.Context, pod *corev1.Pod, c *container) error {
	hook := c.spec.Lifecycle.PreStop
	switch {
	case hook.Sleep != nil:
		w.k.sleep(ctx, time.Duration(hook.Sleep.Seconds)*time.Second)
	case hook.Exec != nil && w.k.c.Exec != nil && !w.static:
		spec, err := w.execSpec(ctx, pod, c, hook.Exec.Command)
		if err != nil {
			return err
		}
		code, err := w.k.c.Exec(ctx, spec)
		if err == nil && code != 0 {
			err = fmt.Errorf("command %q exited with %d", hook.Exec.Command, code)
		}
		return err
	}
	return nil
}

// recordFailedHooks writes the events of the preStop hooks that have failed.
func (w *worker) recordFailedHooks(ctx context.Context) {
	select {
	case <-w.ending.hooks:
	default:
		return // they exceed the grace period
	}
	for _, h := range w.ending.failed {
		if h.err != nil && ctx.Err() == nil {
			w.k.log.Error("PreStopHook failed", "pod", w.namespace+"/"+w.name, "container", h.c.spec.Name, "err", h.err)
			w.event(ctx, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed", h.c.fieldPath())
		}
	}
}

// askHook sends the request of an HTTP hook. Any answer is a success.
func (w *worker) askHook(ctx context.Context, pod *corev1.Pod, c *container, hook *corev1.LifecycleHandler) error {
	if hook.HTTPGet == nil || w.static {
		return nil
	}
	a := w.ask(ctx, pod, c, &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: hook.HTTPGet}})
	if a.errored || strings.HasPrefix(a.failure, "Get ") {
		return errors.New(a.failure)
	}
	return nil
}

// postStart runs the hook of a container that has started, and ends the container if the hook
// fails. A hook with a command is not run, because the container's program does not run.
func (w *worker) postStart(ctx context.Context, pod *corev1.Pod, c *container) {
	l := c.spec.Lifecycle
	if l == nil || l.PostStart == nil || w.askHook(ctx, pod, c, l.PostStart) == nil {
		return
	}
	w.event(ctx, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed", c.fieldPath())
	w.event(ctx, corev1.EventTypeNormal, "Killing", "FailedPostStartHook", c.fieldPath())
	c.stop(ctx, w.k.c.Clock, time.Second)
}
