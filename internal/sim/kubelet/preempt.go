package kubelet

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	requests "k8s.io/component-helpers/resource"
)

// The choice of pods is that of kubernetes pkg/kubelet/preemption/preemption.go. Importing the
// package would link a kubelet.

// systemCritical is the lowest priority of pods that the node needs, which are never evicted.
// Source: kubernetes pkg/apis/scheduling/types.go.
const systemCritical = 2_000_000_000

// preempting is the reason of a pod that ends to make room for a critical pod.
const preempting = "Preempting"

// critical reports whether a pod is critical: the node makes room for it and never evicts it for
// others.
func critical(pod *corev1.Pod) bool {
	return pod.Annotations[sourceAnnotation] == "file" || pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCritical
}

// preempt ends pods to free the requests of a critical pod, and reports that the pod waits for
// them. If not enough can be freed, it returns v, which refuses the pod.
func (m *podManager) preempt(pod *corev1.Pod, v verdict) (verdict, bool) {
	node := m.k.node.get()
	m.mu.Lock()
	defer m.mu.Unlock()
	victims := chooseVictims(pod, m.admitted, m.shortages(pod, node.Status.Allocatable))
	if len(victims) == 0 {
		return v, false
	}
	for _, uid := range victims {
		if w := m.workers[uid]; w != nil {
			w.preempt()
		}
	}
	return verdict{}, true
}

// preempt makes a worker end its pod.
func (w *worker) preempt() {
	w.mu.Lock()
	w.preempted = true
	w.mu.Unlock()
	w.signal()
}

// need is the amount that must still be freed, by resource.
type need map[corev1.ResourceName]int64

// less returns the need that remains after some pods have ended.
func (n need) less(pods []*corev1.Pod) need {
	left := need{}
	for name, amount := range n {
		for _, pod := range pods {
			amount -= requestOf(pod, name)
		}
		if amount > 0 {
			left[name] = amount
		}
	}
	return left
}

// distance returns how far the requests of a pod are from the need; 0 means that they cover it.
func (n need) distance(pod *corev1.Pod) float64 {
	var d float64
	for name, amount := range n {
		if left := float64(amount - requestOf(pod, name)); left > 0 {
			d += left / float64(amount) * left / float64(amount)
		}
	}
	return d
}

func requestOf(pod *corev1.Pod, name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return 1
	}
	return amount(requests.PodRequests(pod, requests.PodResourcesOptions{}), name)
}

// chooseVictims returns the pods that make room for another pod: as few as possible, and of the
// lowest quality of service.
func chooseVictims(pod *corev1.Pod, others map[types.UID]*corev1.Pod, short []shortage) []types.UID {
	need := need{}
	for _, s := range short {
		need[s.name] = s.requested - (s.capacity - s.used)
	}
	groups := map[corev1.PodQOSClass][]*corev1.Pod{}
	var all []*corev1.Pod
	for uid, other := range others {
		if uid != pod.UID && !critical(other) {
			groups[other.Status.QOSClass] = append(groups[other.Status.QOSClass], other)
			all = append(all, other)
		}
	}
	if len(need) == 0 || len(need.less(all)) > 0 {
		return nil
	}
	best, some, most := groups[corev1.PodQOSGuaranteed], groups[corev1.PodQOSBurstable], groups[corev1.PodQOSBestEffort]
	best = nearest(best, need.less(slices.Concat(most, some)))
	some = nearest(some, need.less(slices.Concat(most, best)))
	most = nearest(most, need.less(slices.Concat(some, best)))
	var victims []types.UID
	for _, p := range slices.Concat(most, some, best) {
		victims = append(victims, p.UID)
	}
	return victims
}

// nearest chooses pods until nothing more is needed: each time the one nearest to the remaining
// need and, of equally near ones, the smallest.
func nearest(pods []*corev1.Pod, n need) (chosen []*corev1.Pod) {
	pods = slices.Clone(pods)
	for len(n) > 0 && len(pods) > 0 {
		next := slices.MinFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Or(cmp.Compare(n.distance(a), n.distance(b)),
				cmp.Compare(requestOf(a, corev1.ResourceMemory), requestOf(b, corev1.ResourceMemory)),
				cmp.Compare(requestOf(a, corev1.ResourceCPU), requestOf(b, corev1.ResourceCPU)),
				cmp.Compare(a.UID, b.UID))
		})
		pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return p == next })
		chosen, n = append(chosen, next), n.less([]*corev1.Pod{next})
	}
	return chosen
}
