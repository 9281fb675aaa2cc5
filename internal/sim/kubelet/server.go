package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/cri-streaming/pkg/streaming/portforward"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/pki"
)

// Limits of a port forward, as in the real kubelet.
const (
	streamIdle     = 4 * time.Hour
	streamCreation = 30 * time.Second
)

// logPeriod is the interval at which a followed log is read.
const logPeriod = 250 * time.Millisecond

// serve serves the kubelet's HTTPS API until ctx ends.
func (k *Kubelet) serve(ctx context.Context, l net.Listener) error {
	cert, err := selfSigned(k.nodeName, k.c.InternalIP.String())
	if err != nil {
		return err
	}
	mux := sync.OnceValue(k.routes) // most kubelets get no request, and a router is a tenth of their memory
	limits := limit.Default()
	server := &http.Server{
		Handler:           k.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux().ServeHTTP(w, r) })),
		ReadHeaderTimeout: limits.Head, IdleTimeout: limits.Idle,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12},
		// The streaming protocols upgrade a connection, which HTTP/2 cannot.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	if err := server.ServeTLS(limit.Guests(l), "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("kubelet %s: serve: %w", k.nodeName, err)
	}
	return nil
}

// routes returns the handlers of all paths.
func (k *Kubelet) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /pods", k.servePods)
	mux.HandleFunc("GET /logs/", k.serveFiles)
	mux.HandleFunc("GET /metrics", k.serveMetrics)
	mux.HandleFunc("GET /metrics/resource", k.serveResourceMetrics)
	mux.HandleFunc("GET /metrics/probes", k.serveProbeMetrics)
	mux.HandleFunc("GET /metrics/cadvisor", k.serveContainerMetrics)
	mux.HandleFunc("GET /configz", k.serveConfig)
	mux.HandleFunc("GET /stats/summary", k.serveSummary)
	mux.HandleFunc("GET /runningpods/", k.serveRunningPods)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLogs)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", k.serveExec)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", k.serveAttach)
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.servePortForward)
	for _, folder := range []string{"stats", "containerLogs", "exec", "attach", "portForward"} {
		unknown := func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusNotFound, "404: Page Not Found") }
		mux.HandleFunc("/"+folder, unknown)
		mux.HandleFunc("/"+folder+"/", unknown)
	}
	for _, folder := range []string{"run", "checkpoint"} {
		mux.HandleFunc("/"+folder+"/", func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				writeText(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
				return
			}
			writeText(w, http.StatusNotImplemented, "casement: the simulated kubelet has no /"+folder)
		})
	}
	return mux
}

// writeText answers with a text without a line end, as the kubelet's web services do.
func writeText(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// client returns the certificate of the connected client; nil unless the cluster's CA signed it.
func (k *Kubelet) client(state *tls.ConnectionState) *x509.Certificate {
	if state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	ca, err := k.c.Files.ReadFile(k.settings.Authentication.X509.ClientCAFile)
	if err != nil {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	if _, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return nil
	}
	return state.PeerCertificates[0]
}

func selfSigned(name, ip string) (tls.Certificate, error) {
	return pki.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.ParseIP(ip)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, 365*24*time.Hour, nil)
}

func (k *Kubelet) servePods(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for _, worker := range k.pods.all() {
		if s := worker.shown.Load(); s != nil {
			pod := *s.pod
			pod.TypeMeta, pod.Status = metav1.TypeMeta{}, s.status
			list = append(list, pod)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PodList", "apiVersion": "v1", "items": list})
}

// serveFiles serves the files below /var/log, because enableSystemLogHandler is on by
// default; log queries (enableSystemLogQuery) are off by default and not simulated.
func (k *Kubelet) serveFiles(w http.ResponseWriter, r *http.Request) {
	logs, err := k.c.Files.Tree("/var/log")
	if err != nil {
		http.Error(w, "no logs", http.StatusNotFound)
		return
	}
	defer logs.Close()
	http.StripPrefix("/logs/", http.FileServerFS(logs)).ServeHTTP(w, r)
}

// serveLogs answers a container's log; it supports tailLines and follow.
func (k *Kubelet) serveLogs(w http.ResponseWriter, r *http.Request) {
	worker := k.pods.find(r.PathValue("namespace"), r.PathValue("pod"))
	if worker == nil {
		writeText(w, http.StatusNotFound, fmt.Sprintf("pod %q does not exist", r.PathValue("pod")))
		return
	}
	c := worker.container(r.PathValue("container"))
	if c == nil {
		writeText(w, http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q", r.PathValue("container"), r.PathValue("pod")))
		return
	}
	f, err := worker.openLog(c)
	if err != nil {
		http.Error(w, "the container has written no log", http.StatusNotFound)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		_, err = f.Seek(tail(f, info.Size(), r.URL.Query().Get("tailLines")), io.SeekStart)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := io.Copy(w, f); err != nil {
		return // the client closed the connection
	}
	for r.URL.Query().Get("follow") == "true" {
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		if !k.sleep(r.Context(), logPeriod) {
			return
		}
		if _, err := io.Copy(w, f); err != nil {
			return
		}
	}
}

// tail returns the offset of the last lines of a log, or of its last maxLog bytes. It keeps only a part of
// the log in memory, because a user may read many logs at the same time.
func tail(f io.ReaderAt, size int64, lines string) int64 {
	first := max(size-maxLog, 0)
	left, err := strconv.Atoi(lines)
	if err != nil || left < 0 {
		return first
	}
	if left == 0 {
		return size
	}
	part := make([]byte, 32<<10)
	for end := size; end > first; {
		from := max(end-int64(len(part)), first)
		n, _ := f.ReadAt(part[:end-from], from) // reads less if the log was truncated meanwhile
		for i := n - 1; i >= 0; i-- {
			if at := from + int64(i); part[i] == '\n' && at != size-1 {
				if left--; left == 0 {
					return at + 1
				}
			}
		}
		end = from
	}
	return first
}

func (k *Kubelet) servePortForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	worker := k.pods.find(r.PathValue("namespace"), r.PathValue("pod"))
	if worker == nil {
		writeText(w, http.StatusNotFound, "pod does not exist")
		return
	}
	portforward.ServePortForward(w, r, forwarder{k, worker}, worker.name, string(worker.uid), options, streamIdle,
		streamCreation, portforward.SupportedProtocols)
}

// forwarder connects a forwarded port: a static pod's on the machine's loopback address, another
// pod's in the simulated network.
type forwarder struct {
	k *Kubelet
	w *worker
}

func (f forwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	host := "127.0.0.1"
	if !f.w.static {
		s := f.w.shown.Load()
		if s == nil || s.status.PodIP == "" {
			return fmt.Errorf("pod %s has no address yet", f.w.name)
		}
		host = s.status.PodIP
	}
	conn, err := f.k.c.Dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("forward port %d: %w", port, err)
	}
	defer conn.Close()
	done := make(chan error, 2)
	f.k.c.Wall.Go(nil, "port-forward", func() { _, err := io.Copy(conn, stream); done <- err })
	f.k.c.Wall.Go(nil, "port-forward", func() { _, err := io.Copy(stream, conn); done <- err })
	return <-done
}

// nodeConfig returns a client configuration with the node's own identity.
func (k *Kubelet) nodeConfig(context.Context) (*rest.Config, error) {
	cluster, _, err := k.identity.kubeconfig(kubeletConf)
	if err != nil {
		return nil, err
	}
	pair := k.identity.cert.Load()
	if pair == nil {
		return nil, errors.New("the node has no certificate yet")
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, err
	}
	cert := []byte(nil)
	for _, der := range pair.Certificate {
		cert = append(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	return &rest.Config{Host: cluster.Server, UserAgent: k.agent(), Dial: k.c.Dial, TLSClientConfig: rest.TLSClientConfig{
		CAData: cluster.CertificateAuthorityData, CertData: cert, KeyData: keyPEM,
	}, QPS: -1}, nil
}
