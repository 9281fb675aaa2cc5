package podrun

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/process"
)

// Intervals of a worker. A kubelet's are ten times longer, because it runs a hundred pods.
const (
	step        = 250 * time.Millisecond
	volumeEvery = 10 * time.Second
	probeWithin = 2 * time.Second
)

// worker runs one pod.
type worker struct {
	r    *Runner
	pod  *corev1.Pod // as of the start of the worker; its spec does not change
	ip   netip.Addr
	dir  string
	ctx  context.Context // ends with the pod or the node
	node context.Context // ends with the node
	stop context.CancelFunc

	// ports maps the container ports to ports of this computer. It is set before the worker runs.
	ports      map[int32]uint16
	tokens     map[string]heldToken // for volumes, by audience and path
	containers []*container
	reported   corev1.PodStatus
}

// container is a container of a pod, as a process.
type container struct {
	spec    corev1.Container
	process *process.Process
	started metav1.Time
	ready   bool
	// nextProbe is the time of the next probe of a ready container.
	nextProbe time.Time
	// problem is the reason why there is no process.
	reason, problem string
}

// newWorker returns the worker of a pod, with a free port of this computer for each container port.
// The caller holds r's lock.
func (r *Runner) newWorker(node context.Context, pod *corev1.Pod) *worker {
	w := &worker{r: r, pod: pod, ip: r.address(pod), dir: filepath.Join(r.cfg.Dir, string(pod.UID)), node: node,
		ports: map[int32]uint16{}, tokens: map[string]heldToken{}}
	w.ctx, w.stop = context.WithCancel(node)
	for _, c := range pod.Spec.Containers {
		w.containers = append(w.containers, &container{spec: c})
		for _, p := range c.Ports {
			w.ports[p.ContainerPort] = 0
		}
	}
	// Without free ports of this computer the ports are 0, and probes of the pod fail.
	free, _ := freeport.Choose("127.0.0.1", len(w.ports))
	for i, port := range slices.Sorted(maps.Keys(w.ports)) {
		if i < len(free) {
			w.ports[port] = uint16(free[i])
		}
	}
	return w
}

// run runs the pod until it is deleted or the node ends.
func (w *worker) run() {
	defer w.end()
	var renew, refresh time.Time
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		if now := time.Now(); now.After(renew) {
			next, err := w.writeToken(w.ctx)
			w.problem("CreateContainerConfigError", err)
			if err == nil {
				renew = next
			}
		}
		if now := time.Now(); now.After(refresh) {
			err := w.writeVolumes(w.ctx)
			w.problem("ContainerCreating", err)
			if err == nil {
				refresh = now.Add(volumeEvery)
			}
		}
		if !renew.IsZero() && !refresh.IsZero() {
			w.start()
			w.probe()
		}
		w.report()
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// problem records why the containers without a process do not run.
func (w *worker) problem(reason string, err error) {
	for _, c := range w.containers {
		if c.process == nil && err != nil {
			c.reason, c.problem = reason, err.Error()
		}
	}
}

// start starts the processes that are not running yet.
func (w *worker) start() {
	for _, c := range w.containers {
		if c.process != nil {
			continue
		}
		program, file, err := find(c.spec.Image, w.r.cfg.Programs)
		if err != nil {
			c.reason, c.problem = "ErrImagePull", err.Error()
			continue
		}
		if err := w.startContainer(c, program, file); err != nil {
			c.reason, c.problem = "CreateContainerError", err.Error()
			continue
		}
		c.reason, c.problem, c.started = "", "", metav1.Now()
	}
}

func (w *worker) startContainer(c *container, p program, file string) error {
	env, values, err := w.environment(w.ctx, c.spec)
	if err != nil {
		return err
	}
	kubeconfig, err := w.writeKubeconfig()
	if err != nil {
		return err
	}
	mounts := map[string]string{}
	for _, m := range c.spec.VolumeMounts {
		if !strings.HasPrefix(m.Name, "kube-api-access-") {
			mounts[filepath.Clean(m.MountPath)] = w.volume(m.Name)
		}
	}
	if err := w.linkFiles(file + filesSuffix); err != nil {
		return err
	}
	own := []string{"PATH=/usr/bin:/bin", "HOME=" + w.dir, "TMPDIR=" + w.dir, "HOSTNAME=" + w.pod.Name, "KUBECONFIG=" + kubeconfig}
	c.process, err = process.Start(process.Spec{
		Name: w.pod.Name + "/" + c.spec.Name, Argv: p.command(file, w.pod, c.spec, values, mounts, w.ports),
		Env: append(append(own, w.r.cfg.Env...), env...), OnlyEnv: true,
		Dir: w.dir, Log: w.log(c.spec.Name), Restart: true, Records: w.r.cfg.Records,
	})
	return err
}

func (w *worker) log(container string) string { return filepath.Join(w.dir, container+".log") }

// probe runs the readiness probes; a container without a probe is ready when it runs. A container
// that is not ready is probed at each step, a ready one at the period of its probe, so that a pod
// without changes needs little work.
func (w *worker) probe() {
	for _, c := range w.containers {
		running := c.process != nil && c.process.State().Running
		if running && c.ready && time.Now().Before(c.nextProbe) {
			continue
		}
		c.ready = running && w.answers(c)
		c.nextProbe = time.Now().Add(probePeriod(c.spec))
	}
}

// probePeriod returns the interval of the probes of a ready container. The default of a kubelet is
// 10 seconds.
func probePeriod(c corev1.Container) time.Duration {
	if p := c.ReadinessProbe; p != nil && p.PeriodSeconds > 0 {
		return time.Duration(p.PeriodSeconds) * time.Second
	}
	return 10 * time.Second
}

func (w *worker) answers(c *container) bool {
	p := c.spec.ReadinessProbe
	if p == nil || p.HTTPGet == nil {
		return true
	}
	port := p.HTTPGet.Port.IntVal
	if p.HTTPGet.Port.Type == intstr.String {
		for _, named := range c.spec.Ports {
			if named.Name == p.HTTPGet.Port.StrVal {
				port = named.ContainerPort
			}
		}
	}
	ctx, cancel := context.WithTimeout(w.ctx, probeWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", w.ports[port], p.HTTPGet.Path), nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode < http.StatusBadRequest
}

// report writes the pod's status if it has changed.
func (w *worker) report() {
	status := w.status(time.Now())
	if equality.Semantic.DeepEqual(status, w.reported) {
		return
	}
	if err := w.r.patchStatus(w.ctx, w.pod, status); err != nil {
		if w.ctx.Err() == nil && !apierrors.IsNotFound(err) {
			w.r.cfg.Log.Info("report pod", "namespace", w.pod.Namespace, "pod", w.pod.Name, "error", err)
		}
		return
	}
	w.reported = status
}

// end stops the processes concurrently, within the pod's grace period, and removes a deleted pod
// from the API. If the node ends, the pod remains in the API.
func (w *worker) end() {
	ctx := context.WithoutCancel(w.ctx)
	grace := 30 * time.Second
	if s := w.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	if w.node.Err() != nil {
		grace = min(grace, 5*time.Second)
	}
	for _, c := range w.containers {
		if c.process != nil {
			each, cancel := context.WithTimeout(ctx, grace)
			c.process.Stop(each)
			cancel()
		}
	}
	if w.node.Err() == nil {
		err := w.r.client.CoreV1().Pods(w.pod.Namespace).Delete(ctx, w.pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(w.pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			w.r.cfg.Log.Info("remove pod", "namespace", w.pod.Namespace, "pod", w.pod.Name, "error", err)
		}
		if err := os.RemoveAll(w.dir); err != nil {
			w.r.cfg.Log.Info("remove the directory of a pod", "error", err)
		}
	}
	w.r.mu.Lock()
	delete(w.r.workers, w.pod.UID)
	w.r.mu.Unlock()
}
