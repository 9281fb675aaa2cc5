package kubelet

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/types"
)

// Runtime contains the containers of a machine, which outlive its kubelet: they continue to answer
// while the kubelet is stopped, and the next kubelet adopts them. Close ends them, as the end of
// the machine does.
type Runtime struct {
	ctx  context.Context // ends the containers
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	left   map[types.UID]leftPod
	images map[string]bool // the pulled images
}

// leftPod is a pod whose kubelet has stopped.
type leftPod struct {
	namespace, name string
	network         Network // nil if the pod has no ports of its own
	sandbox         sandbox
	containers      []*container
}

// NewRuntime returns a runtime without containers.
func NewRuntime() *Runtime {
	r := &Runtime{left: map[types.UID]leftPod{}, images: map[string]bool{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// has reports whether the machine has an image.
func (r *Runtime) has(image string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.images[image]
}

// shownImages is the number of images that a Node shows. Source: nodeStatusMaxImages of the
// KubeletConfiguration's defaults.
const shownImages = 50

// list returns the images of the machine as its Node shows them. Their sizes are not known.
func (r *Runtime) list() []corev1.ContainerImage {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []corev1.ContainerImage
	for _, name := range slices.Sorted(maps.Keys(r.images)) {
		list = append(list, corev1.ContainerImage{Names: []string{name}})
	}
	return list[:min(len(list), shownImages)]
}

// pulled records that the machine has an image, and reports whether the machine had it before.
func (r *Runtime) pulled(image string) (before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.images[image]
	r.images[image] = true
	return before
}

// Close ends all containers. The runtime must not be used afterwards.
func (r *Runtime) Close() {
	r.sweep(nil)
	r.stop()
	r.work.Wait()
}

// leave stores the containers of a pod for the next kubelet.
func (r *Runtime) leave(w *worker) {
	p := leftPod{namespace: w.namespace, name: w.name, sandbox: w.sandbox, containers: w.containers}
	if w.exposes() {
		p.network = w.k.c.Network
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left[w.uid] = p
}

// take returns and removes the state of a pod that an earlier kubelet left.
func (r *Runtime) take(uid types.UID) (leftPod, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.left[uid]
	delete(r.left, uid)
	return p, ok
}

// sweep removes the state of all pods except those in keep.
func (r *Runtime) sweep(keep map[types.UID]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, p := range r.left {
		if keep[uid] {
			continue
		}
		delete(r.left, uid)
		if p.network != nil {
			p.network.RemovePod(p.namespace, p.name, p.sandbox.ip)
		}
		for _, c := range p.containers {
			if c.run != nil {
				c.run.stop(r.ctx)
			}
		}
	}
}

// adopt restores the pod's state from before the kubelet's restart: its containers if the
// machine still has them, otherwise its address.
func (w *worker) adopt(ctx context.Context) {
	if w.static {
		return // Processes keeps the processes of static pods
	}
	if p, ok := w.k.runtime.take(w.uid); ok {
		w.sandbox, w.containers = p.sandbox, p.containers
		for _, c := range w.containers {
			if c.run != nil {
				w.follow(ctx, c.run)
			}
		}
		return
	}
	pod, _ := w.current()
	if ip, err := netip.ParseAddr(pod.Status.PodIP); err == nil && !w.k.onHostNetwork(pod) {
		w.sandbox.ip = ip
	}
}

// follow wakes the worker when a run ends.
func (w *worker) follow(ctx context.Context, run *execution) {
	w.k.c.Wall.Go(&w.k.pods.running, "pod", func() {
		select {
		case <-run.done:
			w.signal()
		case <-ctx.Done():
		}
	})
}
