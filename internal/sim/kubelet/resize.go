package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// resizePeriod is the interval at which a resize that does not fit is tried again.
const resizePeriod = 10 * time.Second

// resize applies resources that were changed in the spec to a pod's running containers, if the node
// has room. It returns the delay of the next attempt. Messages are from kubernetes
// pkg/kubelet/allocation; there are no cgroups here, so an allocation completes immediately.
func (w *worker) resize(ctx context.Context, pod *corev1.Pod) time.Duration {
	changed := map[*container]corev1.ResourceRequirements{}
	for _, c := range w.containers {
		if want := resourcesOf(pod, c); want != nil && !semanticEqual(*want, c.spec.Resources) {
			changed[c] = *want
		}
	}
	if len(changed) == 0 || w.static {
		w.delayed = verdict{}
		w.k.pods.keep(pod, verdict{}) // replaces an older version of the pod
		return 0
	}
	if w.k.c.OS == "windows" {
		w.recordDelay(ctx, pod, corev1.PodReasonInfeasible, verdict{corev1.PodReasonInfeasible, noResize})
		return 0
	}
	if node := w.k.node.get(); node != nil {
		w.k.pods.mu.Lock()
		short := w.k.pods.shortages(pod, node.Status.Allocatable)
		w.k.pods.mu.Unlock()
		if len(short) > 0 {
			w.recordDelay(ctx, pod, corev1.PodReasonDeferred, short[0].verdict())
			return resizePeriod
		}
	}
	w.delayed = verdict{}
	w.k.pods.keep(pod, verdict{})
	w.event(ctx, corev1.EventTypeNormal, "ResizeStarted", "Pod resize started: "+resizeSummary(pod, ""), "")
	for c, want := range changed {
		restart := c.run != nil && restartsFor(&c.spec, want)
		c.spec.Resources = want
		if restart {
			w.event(ctx, corev1.EventTypeNormal, "Killing", fmt.Sprintf("Container %s resize requires restart", c.spec.Name), c.fieldPath())
			c.stop(ctx, w.k.c.Clock, gracePeriod(pod))
			c.pause, c.next, c.notBefore = 0, 0, time.Time{}
		}
	}
	w.event(ctx, corev1.EventTypeNormal, "ResizeCompleted", "Pod resize completed: "+resizeSummary(pod, ""), "")
	return 0
}

// recordDelay records that a pod does not get its new resources, and the reason.
func (w *worker) recordDelay(ctx context.Context, pod *corev1.Pod, how string, why verdict) {
	if w.delayed.reason == "" {
		w.event(ctx, corev1.EventTypeWarning, "Resize"+how, "Pod resize "+why.reason+": "+resizeSummary(pod, why.message), "")
		w.delayed = verdict{how, why.message}
	}
}

// resourcesOf returns the resources in a pod's spec for a container; nil for a container that
// cannot be resized.
func resourcesOf(pod *corev1.Pod, c *container) *corev1.ResourceRequirements {
	list := pod.Spec.Containers
	if c.init {
		list = pod.Spec.InitContainers
	}
	if c.ephemeral || c.init && !c.sidecar {
		return nil
	}
	for i := range list {
		if list[i].Name == c.spec.Name {
			return &list[i].Resources
		}
	}
	return nil
}

// restartsFor reports whether new resources require a restart of the container.
func restartsFor(c *corev1.Container, want corev1.ResourceRequirements) bool {
	for _, p := range c.ResizePolicy {
		differ := func(a, b corev1.ResourceList) bool {
			x, y := a[p.ResourceName], b[p.ResourceName]
			return x.Cmp(y) != 0
		}
		if p.RestartPolicy == corev1.RestartContainer &&
			(differ(c.Resources.Requests, want.Requests) || differ(c.Resources.Limits, want.Limits)) {
			return true
		}
	}
	return false
}

// sized returns the pod with the resources that its containers have while new resources are
// delayed.
func (w *worker) sized(pod *corev1.Pod) *corev1.Pod {
	if w.delayed.reason == "" {
		return pod
	}
	pod = pod.DeepCopy()
	for _, c := range w.containers {
		if r := resourcesOf(pod, c); r != nil {
			*r = c.spec.Resources
		}
	}
	return pod
}

// resizeSummary returns the text of the events of a resize. Source: kubernetes
// pkg/kubelet/events/resize.go.
func resizeSummary(pod *corev1.Pod, problem string) string {
	type one struct {
		Name      string                      `json:"name"`
		Resources corev1.ResourceRequirements `json:"resources"`
	}
	all := struct {
		Inits      []one  `json:"initContainers,omitempty"`
		Mains      []one  `json:"containers,omitempty"`
		Generation int64  `json:"generation"`
		Error      string `json:"error,omitempty"`
	}{Generation: pod.Generation, Error: problem}
	for _, c := range pod.Spec.InitContainers {
		all.Inits = append(all.Inits, one{c.Name, c.Resources})
	}
	for _, c := range pod.Spec.Containers {
		all.Mains = append(all.Mains, one{c.Name, c.Resources})
	}
	data, _ := json.Marshal(all) // strings and quantities always encode
	return string(data)
}
