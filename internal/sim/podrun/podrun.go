// Package podrun is the only node of a bare management plane: a kubelet that runs a pod's
// containers as processes of this computer, from programs that replace their images. Kubernetes'
// own controllers handle Deployments, ReplicaSets, Services and EndpointSlices.
//
// A process gets the inputs of its container: arguments, environment, the ServiceAccount's token,
// its Secrets as directories. It is not isolated like a container: it shares this computer's file
// system, network and user. Flags for the program's ports are added to the pod's arguments, so that
// several processes can listen. The package runs only images that it knows and no init containers,
// and has no liveness probes, no limits and no exec. It knows nothing of Azure or Cluster API
// beyond the names of their programs; internal/plane and tests may import it.
package podrun

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"casement.dev/casement/internal/process"
)

// Config configures the node.
type Config struct {
	// REST is the configuration of an administrator's client of the API server. The pods'
	// kubeconfigs have the same host and CA.
	REST *rest.Config
	// Dir contains the pods' directories and logs.
	Dir string
	// Programs are directories with the programs for images. A file has the last element of the
	// image's name as its name, with the suffix _TAG if it is only for one tag. Other files of the
	// image are in a directory of that name with the suffix .files.
	Programs []string
	// Env is added to the environment of every process before the pod's own variables.
	Env []string
	// Records is the place where the processes are recorded while they run.
	Records process.Records
	Log     *slog.Logger
}

// NodeName is the name of the node.
const NodeName = "local"

// nodeIP is the node's address and podNet the range of its pods' addresses, which follow the
// node's. They are only data: ServeEgress maps them to sockets.
var (
	nodeIP = netip.MustParseAddr("10.254.0.1")
	podNet = netip.MustParsePrefix("10.254.0.0/16")
)

// Runner is the node: it runs the pods that are bound to it as processes of this computer.
type Runner struct {
	cfg    Config
	client kubernetes.Interface
	cert   tls.Certificate

	mu      sync.Mutex
	workers map[types.UID]*worker
	closed  bool
	running sync.WaitGroup
}

// New returns a node that does nothing until Run.
func New(cfg Config) (*Runner, error) {
	client, err := kubernetes.NewForConfig(cfg.REST)
	if err != nil {
		return nil, err
	}
	cert, err := selfSigned()
	if err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg, client: client, cert: cert, workers: map[types.UID]*worker{}}, nil
}

// Run registers the node and runs its pods until ctx ends. When it returns, every process has
// ended; the pods remain in the API and are resumed by the next Run.
func (r *Runner) Run(ctx context.Context) error {
	if err := r.register(ctx); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(r.client, 0)
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.observe(ctx, o) },
		UpdateFunc: func(_, o any) { r.observe(ctx, o) },
		DeleteFunc: func(o any) { r.forget(o) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// observe handles a change of a pod: it binds an unscheduled pod and starts a worker for a bound
// one.
func (r *Runner) observe(ctx context.Context, o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	if pod.Spec.NodeName == "" {
		if pod.DeletionTimestamp == nil {
			r.bind(ctx, pod)
		}
		return
	}
	if pod.Spec.NodeName != NodeName || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.workers[pod.UID]
	if w == nil && !r.closed {
		w = r.newWorker(ctx, pod)
		r.workers[pod.UID] = w
		r.running.Go(func() { w.run() })
	}
	if w != nil && pod.DeletionTimestamp != nil {
		w.stop()
	}
}

func (r *Runner) forget(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.workers[pod.UID]; w != nil {
		w.stop()
	}
}

// address returns the previous address of a pod, or the next free one.
func (r *Runner) address(pod *corev1.Pod) netip.Addr {
	used := map[netip.Addr]bool{nodeIP: true}
	for _, w := range r.workers {
		used[w.ip] = true
	}
	if ip, err := netip.ParseAddr(pod.Status.PodIP); err == nil && podNet.Contains(ip) && !used[ip] {
		return ip
	}
	for ip := nodeIP.Next(); ; ip = ip.Next() {
		if !used[ip] {
			return ip
		}
	}
}

func (r *Runner) bind(ctx context.Context, pod *corev1.Pod) {
	err := r.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: NodeName},
	}, metav1.CreateOptions{})
	if err != nil && ctx.Err() == nil {
		// A conflict means that the pod was bound or deleted meanwhile; the next event follows.
		r.cfg.Log.Info("bind pod", "namespace", pod.Namespace, "pod", pod.Name, "error", err)
	}
}

// tokenLife is the lifetime of the service account tokens that are requested, as kubelets request
// them.
const tokenLife = time.Hour
