package kubelet

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// committedSince is the first minor version whose kubelet evicts pods by committed memory on
// Windows; with older versions the node only pages. Source:
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction, Windows;
// kubernetes issue 122922.
const committedSince = 31

// windowsMemoryThreshold is the default of memory.available in evictionHard on Windows.
const windowsMemoryThreshold = "500Mi"

// health returns the faults that this kubelet detects on its machine.
func (k *Kubelet) health() Health {
	h := k.c.Health()
	h.MemoryCommitted = h.MemoryCommitted && k.c.OS == "windows" && minorOf(k.c.Version) >= committedSince
	return h
}

// evicted returns the verdict that evicts a pod: the node's memory is committed, and a container of
// the pod has no memory limit. Pods with limits and critical pods remain, because the kubelet
// evicts other pods first, which frees enough memory.
func (w *worker) evicted(pod *corev1.Pod) (verdict, bool) {
	if w.static || w.k.c.Health == nil || critical(pod) {
		return verdict{}, false
	}
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Resources.Limits.Memory().IsZero() })
	if i < 0 || !w.k.health().MemoryCommitted {
		return verdict{}, false
	}
	c := &pod.Spec.Containers[i]
	threshold := cmp.Or(w.k.settings.EvictionHard["memory.available"], windowsMemoryThreshold)
	return verdict{"Evicted", fmt.Sprintf("The node was low on resource: memory. Threshold quantity: %s, available: 212Mi. Container %s "+
		"has committed memory without a limit, request is %s, has larger consumption of memory. ", threshold, c.Name,
		c.Resources.Requests.Memory())}, true
}
