package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// deadline returns the time for which a pod may still be active, zero for no limit, and whether the
// limit has passed. Source: kubernetes pkg/kubelet/active_deadline.go.
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

// sooner returns the shorter of two delays; zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
