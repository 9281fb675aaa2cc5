package kubelet

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// deadline returns how long a pod may still be active, zero for as long as it likes, and whether that is over.
// Source: kubernetes pkg/kubelet/active_deadline.go.
func (w *worker) deadline(pod *corev1.Pod) (left time.Duration, over bool) {
	if pod.Spec.ActiveDeadlineSeconds == nil || w.static {
		return 0, false
	}
	allowed := time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second
	if w.status.StartTime == nil {
		return allowed, false
	}
	left = allowed - w.k.c.Clock.Since(w.status.StartTime.Time)
	return left, left <= 0
}

// exceed ends a pod whose deadline is over.
func (w *worker) exceed(ctx context.Context, pod *corev1.Pod) {
	w.fail(ctx, pod, verdict{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"}, corev1.EventTypeNormal)
}

// fail ends a pod for good, for a reason.
func (w *worker) fail(ctx context.Context, pod *corev1.Pod, why verdict, eventType string) {
	w.verdict = why
	w.event(ctx, eventType, w.verdict.reason, w.verdict.message, "")
	w.k.hide(w)
	for _, c := range slices.Backward(w.containers) {
		if c.run != nil {
			w.event(ctx, corev1.EventTypeNormal, "Killing", "Stopping container "+c.spec.Name, c.fieldPath())
			c.stop(ctx, w.k.c.Clock, gracePeriod(pod))
			if c.ended != nil {
				c.ended.Reason, c.ended.ExitCode = "Error", endedExitCode(w.k.c.OS)
			}
		}
	}
	if w.sandbox.ip.IsValid() && !w.k.onHostNetwork(pod) {
		w.k.pods.release(w.sandbox.ip, w.uid)
	}
	w.sandbox.ready = false
	w.k.pods.leaves(w.uid)
}

// sooner returns the earlier of two times to look again; zero is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
