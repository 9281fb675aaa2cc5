package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A probe reaches these listeners: the declared TCP ports of the pod's running containers, the
// ports that a stub's real program opens and, for a pod on the machine's own network, all its
// sockets. A simulated container answers any protocol on its ports. An exec probe is not run,
// because the program that it examines does not run either: it counts as passed, and the
// container's log says so. Static pods are processes and are not probed.

// answer is the result of one attempt of a probe.
type answer struct {
	failure string // the kubelet's message; empty if the probe passed
	errored bool   // the probe was not possible, which changes nothing
	steady  bool   // the answer remains the same until something wakes the worker
}

// prober follows one probe during one run of a container.
type prober struct {
	kind   string // the name in events: Startup, Liveness, Readiness
	spec   *corev1.Probe
	due    time.Time
	ok     bool  // the current result
	last   bool  // the newest answer passed
	streak int32 // the number of equal answers in a row
}

// newProber returns a prober, or nil for a probe that is not set. ok is the result before the first
// answers: a container counts as alive until its probe fails, and as not started and not ready
// until its probes pass.
func newProber(kind string, spec *corev1.Probe, started time.Time, ok bool) *prober {
	if spec == nil {
		return nil
	}
	return &prober{kind: kind, spec: spec, ok: ok, due: started.Add(time.Duration(spec.InitialDelaySeconds) * time.Second)}
}

func (p *prober) period() time.Duration {
	return time.Duration(cmp.Or(p.spec.PeriodSeconds, 10)) * time.Second
}

// passed reports whether the probe passes; a missing probe always passes.
func (p *prober) passed() bool { return p == nil || p.ok }

// take records an answer. again is the delay of the next attempt; zero means that only a wake-up of
// the worker causes one. failed means that the answer is the last failure that the probe allows.
func (p *prober) take(a answer, now time.Time) (again time.Duration, failed bool) {
	p.due = now.Add(p.period())
	if a.errored {
		return p.period(), false
	}
	pass := a.failure == ""
	if pass != p.last {
		p.last, p.streak = pass, 0
	}
	p.streak++
	switch {
	case pass && p.streak >= cmp.Or(p.spec.SuccessThreshold, 1):
		p.ok = true
		if a.steady {
			return 0, false
		}
	case !pass && p.streak >= cmp.Or(p.spec.FailureThreshold, 3):
		p.ok, failed = false, true
	}
	return p.period(), failed
}

// probers are the probes of one run of a container; missing ones are nil.
type probers struct{ startup, liveness, readiness *prober }

func newProbers(c *corev1.Container, started time.Time) probers {
	return probers{
		newProber("Startup", c.StartupProbe, started, false),
		newProber("Liveness", c.LivenessProbe, started, true),
		newProber("Readiness", c.ReadinessProbe, started, false),
	}
}

// asked returns the probes that run now: only the startup probe until it has succeeded.
func (p probers) asked() []*prober {
	if p.startup != nil && !p.startup.ok {
		return []*prober{p.startup}
	}
	return slices.DeleteFunc(p.all(), func(q *prober) bool { return q == p.startup })
}

// all returns the probes that are set.
func (p probers) all() []*prober {
	return slices.DeleteFunc([]*prober{p.startup, p.liveness, p.readiness}, func(p *prober) bool { return p == nil })
}

// probe runs the due probes of a running container and restarts the container if a probe requires
// it. It returns the delay of the next call; zero means not before a change.
func (w *worker) probe(ctx context.Context, pod *corev1.Pod, c *container) time.Duration {
	if c.run == nil || w.static {
		return 0
	}
	now := w.k.c.Clock.Now()
	var again time.Duration
	for _, p := range c.probes.asked() {
		next := p.due.Sub(now)
		if next <= 0 {
			a := w.ask(ctx, pod, c, p.spec)
			w.recordUnhealthy(ctx, c, p, a)
			w.k.asked.count(probed{w.uid, w.namespace, w.name, c.spec.Name, p.kind}, a)
			var failed bool
			if next, failed = p.take(a, now); failed && p != c.probes.readiness {
				w.killUnhealthy(ctx, pod, c, p)
				return time.Millisecond
			}
			if p == c.probes.startup && p.ok {
				next = time.Millisecond // the other probes begin
			}
		}
		if next > 0 && (again == 0 || next < again) {
			again = next
		}
	}
	return again
}

// recordUnhealthy writes the event of a failed or impossible probe.
func (w *worker) recordUnhealthy(ctx context.Context, c *container, p *prober, a answer) {
	switch {
	case a.errored:
		message := fmt.Sprintf("%s probe errored and resulted in unknown state: %s", p.kind, a.failure)
		w.event(ctx, corev1.EventTypeWarning, "Unhealthy", message, c.fieldPath())
	case a.failure != "":
		w.event(ctx, corev1.EventTypeWarning, "Unhealthy", p.kind+" probe failed: "+a.failure, c.fieldPath())
	}
}

// restartsUnhealthy reports whether a container is restarted after a failed probe. Its restart rules do not
// apply, because they compare exit codes.
func restartsUnhealthy(c *corev1.Container, pod *corev1.PodSpec) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy != corev1.ContainerRestartPolicyNever
	}
	return pod.RestartPolicy != corev1.RestartPolicyNever
}

// killUnhealthy ends a run whose startup or liveness probe has failed too often. Source: kubernetes
// pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions.
func (w *worker) killUnhealthy(ctx context.Context, pod *corev1.Pod, c *container, p *prober) {
	message := fmt.Sprintf("Container %s failed %s probe", c.spec.Name, strings.ToLower(p.kind))
	others := func(o *container) bool { return o != c && !o.init && !o.ephemeral && !o.done(pod) }
	switch {
	case c.init:
		message = "Init c" + message[1:]
	case restartsUnhealthy(&c.spec, &pod.Spec):
		message += ", will be restarted"
	case !slices.ContainsFunc(w.containers, others):
		message = "Stopping container " + c.spec.Name // as all that is left of the pod
	}
	w.event(ctx, corev1.EventTypeNormal, "Killing", message, c.fieldPath())
	c.stop(ctx, w.k.c.Clock, time.Second)
}

// endedExitCode returns the exit code of a program that the runtime ends: SIGKILL on Linux,
// STATUS_CONTROL_C_EXIT on Windows.
func endedExitCode(os string) int32 {
	if os == "windows" {
		return -1073741510 // 0xC000013A
	}
	return 137
}

// ask runs a probe once.
func (w *worker) ask(ctx context.Context, pod *corev1.Pod, c *container, p *corev1.Probe) answer {
	if p.Exec != nil {
		return answer{steady: true}
	}
	port, host, err := probeTarget(p, &c.spec)
	if err != nil {
		return answer{failure: err.Error(), errored: true}
	}
	own := w.sandbox.ip.String()
	host = cmp.Or(host, own)
	at := net.JoinHostPort(host, strconv.Itoa(int(port)))
	onHost := w.k.onHostNetwork(pod)
	switch {
	case w.cutOff():
		return answer{failure: probeFailure(p, at, "dial tcp "+at+": i/o timeout")}
	case (host == own || onHost) && w.listening()[port] != nil:
		return answer{steady: true}
	case host == own && !onHost:
		return answer{failure: probeFailure(p, at, "dial tcp "+at+": connect: connection refused")}
	}
	return answer{failure: w.askSocket(ctx, p, at)}
}

// logUnprobed writes to a container's log which of its probes are not run.
func logUnprobed(log io.Writer, c *corev1.Container) {
	for _, p := range newProbers(c, time.Time{}).all() {
		if p.spec.Exec != nil {
			const unprobed = "casement: its %s probe %q is not run, as its program is not; it counts as passed\n"
			fmt.Fprintf(log, unprobed, strings.ToLower(p.kind), p.spec.Exec.Command)
		}
	}
}

// probeTarget returns the host and port that a probe connects to; an empty host means the
// pod's own address.
func probeTarget(p *corev1.Probe, c *corev1.Container) (port int32, host string, err error) {
	at := intstr.IntOrString{}
	switch {
	case p.HTTPGet != nil:
		at, host = p.HTTPGet.Port, p.HTTPGet.Host
	case p.TCPSocket != nil:
		at, host = p.TCPSocket.Port, p.TCPSocket.Host
	case p.GRPC != nil:
		return p.GRPC.Port, "", nil
	}
	if at.Type == intstr.Int {
		return at.IntVal, host, nil
	}
	for _, q := range c.Ports {
		if q.Name == at.StrVal {
			return q.ContainerPort, host, nil
		}
	}
	n, err := strconv.Atoi(at.StrVal)
	if err != nil {
		return 0, "", fmt.Errorf("port %q not found", at.StrVal)
	}
	return int32(n), host, nil
}

// probeFailure returns the kubelet's message for a failed connection of a kind of probe.
func probeFailure(p *corev1.Probe, at, problem string) string {
	switch {
	case p.HTTPGet != nil:
		return fmt.Sprintf("Get %q: %s", probeURL(p.HTTPGet, at), problem)
	case p.GRPC != nil:
		return fmt.Sprintf("timeout: failed to connect service %q within %s: context deadline exceeded", at, probeTimeout(p))
	}
	return problem
}

func probeURL(g *corev1.HTTPGetAction, at string) string {
	scheme := "http"
	if g.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	path, err := url.Parse(g.Path)
	if err != nil {
		path = &url.URL{Path: g.Path}
	}
	path.Scheme, path.Host = scheme, at
	return path.String()
}

func probeTimeout(p *corev1.Probe) time.Duration {
	return time.Duration(cmp.Or(p.TimeoutSeconds, 1)) * time.Second
}

// askSocket probes a socket of the machine that is not a simulated container's. For gRPC it only
// connects. It returns the failure, "" for none.
func (w *worker) askSocket(ctx context.Context, p *corev1.Probe, at string) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout(p))
	defer cancel()
	if p.HTTPGet != nil {
		return w.askHTTP(ctx, p.HTTPGet, at)
	}
	conn, err := w.k.c.Dial(ctx, "tcp", at)
	if err != nil {
		return probeFailure(p, at, err.Error())
	}
	conn.Close()
	return ""
}

func (w *worker) askHTTP(ctx context.Context, g *corev1.HTTPGetAction, at string) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, probeURL(g, at), nil)
	if err != nil {
		return err.Error()
	}
	for _, h := range g.HTTPHeaders {
		r.Header.Add(h.Name, h.Value)
	}
	r.Header.Set("User-Agent", "kube-probe/"+w.k.c.Version+" (simulated)")
	// A kubelet's probes verify no certificates.
	transport := &http.Transport{
		DialContext: w.k.c.Dial, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	answered, err := transport.RoundTrip(r)
	if err != nil {
		return fmt.Sprintf("Get %q: %v", r.URL, err)
	}
	answered.Body.Close()
	if answered.StatusCode < 200 || answered.StatusCode >= 400 {
		return fmt.Sprintf("HTTP probe failed with statuscode: %d", answered.StatusCode)
	}
	return ""
}

// listening returns the TCP ports on which the pod's running containers answer.
func (w *worker) listening() map[int32]*container {
	ports := map[int32]*container{}
	for _, c := range w.containers {
		if c.run == nil {
			continue
		}
		for _, p := range w.opens(c) {
			ports[p] = c
		}
	}
	return ports
}

// opens returns the TCP ports of a container: the declared ones, and those of its stub.
func (w *worker) opens(c *container) []int32 {
	var ports []int32
	for _, p := range c.spec.Ports {
		if p.Protocol == corev1.ProtocolTCP || p.Protocol == "" {
			ports = append(ports, p.ContainerPort)
		}
	}
	if w.k.c.Programs != nil {
		if program, known := w.k.c.Programs(c.spec.Image); known {
			ports = append(ports, program.Ports()...)
		}
	}
	return ports
}

// cutOff reports whether the pod is unreachable because of a fault of the machine.
func (w *worker) cutOff() bool {
	return w.k.c.Health().PodsCutOff && w.sandbox.ip.IsValid() && !w.pod.Spec.HostNetwork
}
