package kubelet

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Annotations by which a kubelet marks static and mirror pods.
const (
	mirrorAnnotation = "kubernetes.io/config.mirror"
	sourceAnnotation = "kubernetes.io/config.source"
	hashAnnotation   = "kubernetes.io/config.hash"
	seenAnnotation   = "kubernetes.io/config.seen"
)

// podManager starts a worker for each pod bound to this node and passes it the pod's changes from the API
// server.
type podManager struct {
	k       *Kubelet
	mu      sync.Mutex
	workers map[types.UID]*worker
	mirrors map[string]*corev1.Pod // by namespace/name
	static  map[string]*worker     // by namespace/name of the mirror
	ips     map[netip.Addr]types.UID
	// admitted are the pods that use the node, by UID.
	admitted map[types.UID]*corev1.Pod
	ctx      context.Context // set by the method watch
	running  sync.WaitGroup
}

func newPodManager(k *Kubelet) *podManager {
	return &podManager{k: k, workers: map[types.UID]*worker{}, mirrors: map[string]*corev1.Pod{},
		static: map[string]*worker{}, ips: map[netip.Addr]types.UID{}, admitted: map[types.UID]*corev1.Pod{}}
}

// watch follows the pods of this node with one list and one watch.
func (m *podManager) watch(ctx context.Context) error {
	m.ctx = ctx
	pods := m.k.api.Load().core.Pods(metav1.NamespaceAll)
	selector := fields.OneTermEqualSelector("spec.nodeName", m.k.nodeName).String()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			o.FieldSelector = selector
			return pods.Watch(ctx, o)
		},
	}
	r := cache.NewReflectorWithOptions(source, &corev1.Pod{}, m, cache.ReflectorOptions{Name: "kubelet " + m.k.nodeName})
	r.RunWithContext(ctx)
	return nil
}

// Add, Update, Delete, Replace and Resync implement the store of a reflector.
func (m *podManager) Add(obj any) error { return m.Update(obj) }

func (m *podManager) Update(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("unexpected %T from the pod watch", obj)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.update(pod)
	return nil
}

func (m *podManager) update(pod *corev1.Pod) {
	pod.ManagedFields = nil // this is a third of a pod's memory
	if _, mirror := pod.Annotations[mirrorAnnotation]; mirror {
		key := pod.Namespace + "/" + pod.Name
		m.mirrors[key] = pod
		if w := m.static[key]; w != nil {
			w.signal()
		}
		return
	}
	if w := m.workers[pod.UID]; w != nil {
		w.update(pod)
		return
	}
	m.start(newWorker(m.k, pod))
}

// start runs a worker until its pod has ended.
func (m *podManager) start(w *worker) {
	m.workers[w.uid] = w
	m.k.c.Wall.Go(&m.running, "pod "+w.name, func() {
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.admitted, w.uid)
			m.k.asked.forget(w.uid)
			if m.workers[w.uid] == w {
				delete(m.workers, w.uid)
			}
		}()
		w.run(m.ctx)
	})
}

// Delete notifies the worker that its pod was deleted.
func (m *podManager) Delete(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delete(pod)
	return nil
}

func (m *podManager) delete(pod *corev1.Pod) {
	if _, mirror := pod.Annotations[mirrorAnnotation]; mirror {
		key := pod.Namespace + "/" + pod.Name
		delete(m.mirrors, key)
		if w := m.static[key]; w != nil {
			w.signal()
		}
		return
	}
	if w := m.workers[pod.UID]; w != nil {
		w.remove()
	}
}

func (m *podManager) Replace(list []any, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	listed := map[types.UID]bool{}
	for _, obj := range list {
		if pod, ok := obj.(*corev1.Pod); ok {
			listed[pod.UID] = true
			// Addresses of pods that are already running must not be allocated again.
			if ip, err := netip.ParseAddr(pod.Status.PodIP); err == nil && !pod.Spec.HostNetwork && !terminal(pod.Status.Phase) {
				m.ips[ip] = pod.UID
				if m.k.c.PodIPs != nil {
					m.k.c.PodIPs.Keep(m.k.nodeName, ip)
				}
			}
		}
	}
	m.k.runtime.sweep(listed) // removes pods that were deleted while no kubelet ran
	for key, pod := range m.mirrors {
		if !listed[pod.UID] {
			delete(m.mirrors, key)
			if w := m.static[key]; w != nil {
				w.signal()
			}
		}
	}
	for uid, w := range m.workers {
		if !listed[uid] && !w.static {
			w.remove()
		}
	}
	for _, obj := range list {
		if pod, ok := obj.(*corev1.Pod); ok {
			m.update(pod)
		}
	}
	return nil
}

func (m *podManager) Resync() error { return nil }

// wakeAll wakes every worker.
func (m *podManager) wakeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.workers {
		w.signal()
	}
}

// find returns the worker of a pod by name; a static pod has its mirror's name.
func (m *podManager) find(namespace, name string) *worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.static[namespace+"/"+name]; w != nil {
		return w
	}
	for _, w := range m.workers {
		if w.namespace == namespace && w.name == name && !w.static {
			return w
		}
	}
	return nil
}

// all returns the current workers.
func (m *podManager) all() []*worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*worker, 0, len(m.workers))
	for _, w := range m.workers {
		list = append(list, w)
	}
	return list
}

// wait returns when every worker has stopped.
func (m *podManager) wait() { m.running.Wait() }

// PodAddresses returns the pods of this node that have their own interface, by its address.
func (k *Kubelet) PodAddresses() map[netip.Addr]types.NamespacedName {
	k.pods.mu.Lock()
	defer k.pods.mu.Unlock()
	out := map[netip.Addr]types.NamespacedName{}
	for ip, uid := range k.pods.ips {
		if w := k.pods.workers[uid]; w != nil {
			out[ip] = types.NamespacedName{Namespace: w.namespace, Name: w.name}
		}
	}
	return out
}

// PodRange returns the podCIDR of the Node as the kubelet knows it; it is not valid if the Node has
// none.
func (k *Kubelet) PodRange() netip.Prefix {
	if node := k.node.get(); node != nil {
		if cidr, err := netip.ParsePrefix(node.Spec.PodCIDR); err == nil {
			return cidr
		}
	}
	return netip.Prefix{}
}

// HostProgram is the program of a running HostProcess container; Program is the name of its image.
type HostProgram struct {
	// Pod is the UID of the pod.
	Pod, Program string
	// End ends the container; the kubelet then starts it again.
	End func()
}

// HostProcesses returns the programs of HostProcess containers, in the order of their pods' UIDs.
func (k *Kubelet) HostProcesses() (out []HostProgram) {
	for _, s := range k.snapshots() {
		if !HostProcess(s.pod) {
			continue
		}
		for _, c := range s.containers {
			if run := c.current.Load(); run != nil {
				name := path.Base(c.spec.Image)
				name, _, _ = strings.Cut(name, "@")
				name, _, _ = strings.Cut(name, ":")
				out = append(out, HostProgram{string(s.pod.UID), name, func() { run.stop(context.Background()) }})
			}
		}
	}
	return out
}

// Sandboxes returns the UIDs of the pods that have a running container.
func (k *Kubelet) Sandboxes() (out []string) {
	for _, s := range k.snapshots() {
		if slices.ContainsFunc(s.containers, func(c *container) bool { return c.current.Load() != nil }) {
			out = append(out, string(s.pod.UID))
		}
	}
	return out
}

// snapshots returns the states of the pods, other than static pods, for the HTTPS API, by UID.
func (k *Kubelet) snapshots() (out []*snapshot) {
	k.pods.mu.Lock()
	defer k.pods.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(k.pods.workers)) {
		w := k.pods.workers[uid]
		if s := w.shown.Load(); s != nil && !w.static {
			out = append(out, s)
		}
	}
	return out
}

// allocate allocates an address to a pod: from the Node's podCIDR, or else from the cluster's pool.
func (m *podManager) allocate(ctx context.Context, pod *corev1.Pod) (netip.Addr, error) {
	if cidr := m.podCIDR(ctx); cidr.IsValid() {
		m.mu.Lock()
		defer m.mu.Unlock()
		// The network's own address and the first one (the bridge's) remain free.
		for ip := cidr.Masked().Addr().Next().Next(); cidr.Contains(ip.Next()); ip = ip.Next() {
			if _, taken := m.ips[ip]; !taken {
				m.ips[ip] = pod.UID
				return ip, nil
			}
		}
		return netip.Addr{}, fmt.Errorf("no free address in range %s", cidr)
	}
	if m.k.c.PodIPs == nil {
		return netip.Addr{}, fmt.Errorf("node %q has no podCIDR assigned", m.k.nodeName)
	}
	ip, err := m.k.c.PodIPs.Allocate(ctx, m.k.nodeName, pod.Namespace, pod.Name)
	if err != nil {
		return ip, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ips[ip] = pod.UID
	return ip, nil
}

// podCIDR returns the pod range of the Node, which the controller manager assigns after
// registration.
func (m *podManager) podCIDR(ctx context.Context) netip.Prefix {
	node := m.k.node.get()
	if node == nil || node.Spec.PodCIDR == "" {
		fresh, err := m.k.api.Load().core.Nodes().Get(ctx, m.k.nodeName, metav1.GetOptions{})
		if err != nil {
			return netip.Prefix{}
		}
		m.k.node.set(fresh)
		node = fresh
	}
	cidr, err := netip.ParsePrefix(node.Spec.PodCIDR)
	if err != nil {
		return netip.Prefix{}
	}
	return cidr
}

func (m *podManager) release(ip netip.Addr, uid types.UID) {
	m.mu.Lock()
	owned := m.ips[ip] == uid
	if owned {
		delete(m.ips, ip)
	}
	m.mu.Unlock()
	node := m.k.node.get()
	if owned && m.k.c.PodIPs != nil && (node == nil || node.Spec.PodCIDR == "") {
		m.k.c.PodIPs.Release(m.k.nodeName, ip)
	}
}

func terminal(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }

// backoff returns the delay after last: it doubles from ten seconds to five minutes, like the
// kubelet's for crashing containers and failing pulls.
func backoff(last time.Duration) time.Duration {
	return min(max(2*last, 10*time.Second), 5*time.Minute)
}
