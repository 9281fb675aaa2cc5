package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// verdict is the reason and the message of a pod's rejection; an empty verdict admits the pod.
type verdict struct{ reason, message string }

// onHostNetwork reports whether a pod uses the machine's own network. On Windows this needs a
// HostProcess container. Docker has no such containers, but with Docker the kubelet starts pods
// that request the host network before a CNI exists, and reports the host's address. In this way
// Flannel and kube-proxy started on nodes; they reached the host through wins.exe.
func (k *Kubelet) onHostNetwork(pod *corev1.Pod) bool {
	return pod.Spec.HostNetwork && (k.c.OS != "windows" || HostProcess(pod) || strings.HasPrefix(k.c.RuntimeVersion, "docker://"))
}

// hostProcessGate is the feature gate of HostProcess containers: alpha and off in 1.22, on since
// 1.23. Source: https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod;
// kubernetes pkg/kubelet/kuberuntime/kuberuntime_sandbox.go.
const hostProcessGate, hostProcessAlpha = "WindowsHostProcessContainers", 22

// hostProcessOff returns an error if the kubelet creates no sandbox for a pod of HostProcess
// containers.
func (k *Kubelet) hostProcessOff(pod *corev1.Pod) error {
	if k.c.OS != "windows" || !HostProcess(pod) || minorOf(k.c.Version) != hostProcessAlpha || k.settings.FeatureGates[hostProcessGate] {
		return nil
	}
	return fmt.Errorf("pod contains HostProcess containers but feature '%s' is not enabled", hostProcessGate)
}

// HostProcess reports whether a pod has HostProcess containers.
func HostProcess(pod *corev1.Pod) bool {
	if s := pod.Spec.SecurityContext; s != nil && s.WindowsOptions != nil && s.WindowsOptions.HostProcess != nil {
		return *s.WindowsOptions.HostProcess
	}
	for _, c := range pod.Spec.Containers {
		if s := c.SecurityContext; s != nil && s.WindowsOptions != nil && s.WindowsOptions.HostProcess != nil &&
			*s.WindowsOptions.HostProcess {
			return true
		}
	}
	return false
}

// longestName is the maximum length of a hostname in a kernel; a longer full name is shortened.
const longestName = 64

// refuseSandbox returns an error if the runtime cannot run a pod. Source: kubernetes
// pkg/kubelet/kuberuntime/kuberuntime_sandbox.go, pkg/kubelet/userns/userns_manager.go,
// pkg/kubelet/util/util.go.
func (k *Kubelet) refuseSandbox(pod *corev1.Pod) error {
	if k.c.OS == "linux" && pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers && !k.c.newRuntime() {
		return errors.New("can't set `spec.hostUsers: false`, runtime does not support user namespaces")
	}
	if err := k.refuseSandboxUser(pod); err != nil {
		return err
	}
	if k.onHostNetwork(pod) || pod.Spec.SetHostnameAsFQDN == nil || !*pod.Spec.SetHostnameAsFQDN || pod.Spec.Subdomain == "" {
		return nil
	}
	name := strings.Join([]string{cmp.Or(pod.Spec.Hostname, pod.Name), pod.Spec.Subdomain, pod.Namespace, "svc",
		k.settings.ClusterDomain}, ".")
	if len(name) > longestName {
		return fmt.Errorf("failed to construct FQDN from pod hostname and cluster domain, FQDN %s is too long (%d characters is the max, "+
			"%d characters requested)", name, longestName, len(name))
	}
	return nil
}

// expose makes a pod's ports reachable.
func (k *Kubelet) expose(w *worker, pod *corev1.Pod) {
	w.sandbox.exposed = true
	if k.c.Network == nil || k.onHostNetwork(pod) {
		return
	}
	w.sandbox.ports = nil
	answers := map[int32]*container{}
	for _, c := range w.containers {
		for _, port := range w.opens(c) {
			w.sandbox.ports = append(w.sandbox.ports, port)
			answers[port] = c
		}
	}
	k.c.Network.AddPod(w.namespace, w.name, w.sandbox.ip, w.sandbox.ports,
		func(port int32, conn net.Conn) { w.answer(conn, port, answers[port]) })
}

// page returns the text that a simulated container serves on its ports; its log begins with the
// same text.
func (w *worker) page(c *container) string {
	return fmt.Sprintf("casement: simulated container %s/%s/%s, image %s, node %s\n", w.namespace, w.name,
		c.spec.Name, c.spec.Image, w.k.nodeName)
}

// answer answers a connection to a container's port: with the handler that the container's program
// registered for the port, otherwise with a page that names the container.
func (w *worker) answer(conn net.Conn, port int32, c *container) {
	if l, ok := c.handlers.Load(port); ok {
		l := l.(listening) // Handle stores only this type
		serveHTTP(tls.Server(conn, l.secure), l.handler)
		return
	}
	page := w.page(c)
	serveHTTP(conn, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = rw.Write([]byte(page + negotiated(r, c)))
	}))
}

// negotiated returns the answer of a container to a client that sends a Kerberos ticket:
// the name of the service that the ticket must be for. The ticket is not decrypted.
func negotiated(r *http.Request, c *container) string {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Negotiate") {
		return ""
	}
	if name := c.identity.Load(); name != nil {
		return "casement: simulated Kerberos: the container answers as " + *name + "\n"
	}
	return "casement: simulated Kerberos: the container has no domain identity\n"
}

// serveHTTP answers HTTP on one connection.
func serveHTTP(conn net.Conn, handler http.Handler) {
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: handler}
	l := &oneListener{conn: conn, closed: make(chan struct{})}
	server.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed || s == http.StateHijacked {
			l.Close()
		}
	}
	_ = server.Serve(l) // returns when the connection has ended
}

// oneListener is a listener that accepts one connection.
type oneListener struct {
	conn   net.Conn
	given  bool
	closed chan struct{}
	once   bool
}

func (l *oneListener) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneListener) Close() error {
	if !l.once {
		l.once = true
		close(l.closed)
	}
	return nil
}

func (l *oneListener) Addr() net.Addr { return l.conn.LocalAddr() }

// hide removes a pod's address from the network.
func (k *Kubelet) hide(w *worker) {
	if w.exposes() {
		k.c.Network.RemovePod(w.namespace, w.name, w.sandbox.ip)
	}
	w.sandbox.exposed = false
}

// exposes reports whether the pod has an IP address of its own in the network.
func (w *worker) exposes() bool {
	return w.sandbox.exposed && w.k.c.Network != nil && w.sandbox.ip.IsValid() && w.sandbox.ip != w.k.c.InternalIP
}

func cutRuntime(version string) (name, number string, ok bool) { return strings.Cut(version, "://") }

// backoffEvent writes the event of a container that is backing off.
func (w *worker) backoffEvent(ctx context.Context, c *container) {
	if c.waiting.Reason == "ImagePullBackOff" {
		w.event(ctx, corev1.EventTypeNormal, "BackOff", fmt.Sprintf("Back-off pulling image %q", c.lacks.image), c.lacks.at)
		w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: ImagePullBackOff", c.fieldPath())
		return
	}
	if c.ended != nil {
		w.event(ctx, corev1.EventTypeWarning, "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s_%s(%s)",
			c.spec.Name, w.name, w.namespace, w.uid), c.fieldPath())
	}
}

// event is the identity of an event of a pod.
type event struct{ reason, message, fieldPath string }

// event writes an event of the pod, each only once.
func (w *worker) event(ctx context.Context, kind, reason, message, fieldPath string) {
	key := event{reason, message, fieldPath}
	if w.events[key] || w.static || w.k.api.Load() == nil {
		return
	}
	now := metav1.NewTime(w.k.c.Clock.Now())
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: w.name + ".", Namespace: w.namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: w.name, UID: w.uid, FieldPath: fieldPath,
		},
		Type: kind, Reason: reason, Message: message, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "kubelet", Host: w.k.nodeName}, ReportingController: "kubelet",
		ReportingInstance: w.k.nodeName,
	}
	w.events[key] = true
	if _, err := w.k.api.Load().core.Events(w.namespace).Create(ctx, e, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
		w.k.log.Error("Unable to write event", "err", err)
	}
}
