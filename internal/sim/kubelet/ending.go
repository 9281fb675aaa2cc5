package kubelet

import (
	"context"
	"fmt"
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
