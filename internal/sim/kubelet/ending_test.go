package kubelet

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/testing/guesttree"
)

// switchboard is a network that records which pods are in it.
type switchboard struct {
	mu   sync.Mutex
	pods map[string]bool
}

func (s *switchboard) AddPod(namespace, name string, _ netip.Addr, _ []int32, _ func(int32, net.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods[namespace+"/"+name] = true
}

func (s *switchboard) RemovePod(namespace, name string, _ netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, namespace+"/"+name)
}

func (s *switchboard) has(pod *corev1.Pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[pod.Namespace+"/"+pod.Name]
}

// agreeable is an API server that answers every write with a pod.
type agreeable struct{}

func (agreeable) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"kind":"Pod","apiVersion":"v1"}`))}, nil
}

// bench contains a kubelet whose loops do not run.
type bench struct {
	network *switchboard
	runtime *Runtime
	files   *guestfs.Root
	root    string
	api     *client
}

func newBench(t *testing.T) *bench {
	core, err := corev1client.NewForConfig(&rest.Config{Host: "https://api", QPS: -1, Transport: agreeable{}})
	if err != nil {
		t.Fatal(err)
	}
	files, root := guesttree.New(t)
	b := &bench{network: &switchboard{pods: map[string]bool{}}, runtime: NewRuntime(), files: files, root: root, api: &client{core: core}}
	t.Cleanup(b.runtime.Close)
	return b
}

// kubelet returns a new kubelet on the same machine, as after a restart.
func (b *bench) kubelet(t *testing.T) *Kubelet {
	k, err := New(Config{
		Files: b.files, OS: "windows",
		Hostname: "win-1", Version: "v1.36.3",
		RuntimeVersion: "containerd://2.1.4", Release: Release{Build: "10.0.20348"}, Network: b.network, Runtime: b.runtime,
	})
	if err != nil {
		t.Fatal(err)
	}
	k.api.Store(b.api)
	return k
}

// serving returns a worker whose pod answers requests.
func (b *bench) serving(t *testing.T, k *Kubelet, pod *corev1.Pod) *worker {
	w := newWorker(k, pod)
	w.sandbox = sandbox{ready: true, ip: netip.MustParseAddr("10.244.1.2")}
	w.runContainers(t.Context(), pod)
	w.publish(t.Context())
	if !b.network.has(pod) {
		t.Fatal("the pod does not answer")
	}
	return w
}

func webPod(sleep int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: types.UID("u")},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "iis", Image: "example.com/web", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: sleep}}},
		}}},
	}
}

func deleted(pod *corev1.Pod, grace int64) *corev1.Pod {
	gone := pod.DeepCopy()
	gone.DeletionTimestamp = new(metav1.Now())
	gone.DeletionGracePeriodSeconds = &grace
	return gone
}

func TestPodAnswersUntilItsPreStopHookIsDone(t *testing.T) {
	for _, test := range []struct {
		name         string
		sleep, grace int64
		// answers is the number of seconds for which the pod continues to answer.
		answers int64
	}{
		{"hook", 20, 30, 20},
		{"hook longer than the grace period", 60, 10, 10},
		{"no grace", 60, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				pod := webPod(test.sleep)
				w := b.serving(t, b.kubelet(t), pod)
				w.update(deleted(pod, test.grace))
				begin := time.Now()
				var answered time.Duration
				for again := w.step(t.Context()); !w.settled; again = w.step(t.Context()) {
					w.rest(t.Context(), again)
					answered = time.Since(begin)
				}
				if answered != time.Duration(test.answers)*time.Second || b.network.has(pod) {
					t.Errorf("it answers for %s, want %d s; it still does: %v", answered, test.answers, b.network.has(pod))
				}
			})
		})
	}
}

func TestForcedDeletionDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		pod := webPod(20)
		w := b.serving(t, b.kubelet(t), pod)
		w.update(deleted(pod, 30))
		if w.step(t.Context()); !b.network.has(pod) {
			t.Fatal("it answers no more")
		}
		w.remove()
		if w.step(t.Context()); b.network.has(pod) || !w.finished {
			t.Error("it still answers")
		}
	})
}

// leave runs a worker whose kubelet stops immediately.
func leave(t *testing.T, w *worker) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	w.run(stopped)
}

func TestContainersOutliveTheKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		pod := webPod(0)
		first := b.serving(t, b.kubelet(t), pod)
		leave(t, first)
		if !b.network.has(pod) {
			t.Fatal("the pod ended with its kubelet")
		}
		k := b.kubelet(t)
		second := newWorker(k, pod)
		second.adopt(t.Context())
		if run := second.containers[0].run; run == nil || run != first.containers[0].run {
			t.Errorf("the next kubelet has run %v, not %v", run, first.containers[0].run)
		}
		k.runtime.leave(second)
		k.pods.ctx = t.Context()
		if err := k.pods.Replace(nil, ""); err != nil {
			t.Fatal(err)
		}
		if b.network.has(pod) {
			t.Error("a pod that was deleted meanwhile still answers")
		}
	})
}

func TestContainersEndWithTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		pod := webPod(0)
		w := b.serving(t, b.kubelet(t), pod)
		leave(t, w)
		b.runtime.Close()
		if b.network.has(pod) {
			t.Error("the pod outlived its machine")
		}
		<-w.containers[0].run.done
	})
}
