package fabric

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/proxy"
)

// EgressConfig returns the EgressSelectorConfiguration with which a kube-apiserver makes its
// connections into the cluster (to kubelets, pods, and webhooks that are services) through
// ServeEgress. With controlPlane it also makes connections to URLs through it: webhooks of
// admission, authentication, authorization and audit, and issuers. Connections to etcd are not
// affected. Source: kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity.
func EgressConfig(socketPath string, controlPlane bool) []byte {
	config := []byte("apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n")
	for _, name := range []string{"cluster", "controlplane"} {
		if name == "cluster" || controlPlane {
			config = fmt.Appendf(config, `- name: %s
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %q
`, name, socketPath)
		}
	}
	return config
}

// maxSocketPath is the longest path of a unix socket on Linux, without the terminating zero byte.
const maxSocketPath = 107

// maxHead limits the head of a request; net/http has the same default.
const maxHead = 1 << 20

// ServeEgress answers HTTP CONNECT on a unix socket until ctx ends, and dials from the origin. It
// replaces a socket of an earlier run.
func (f *Fabric) ServeEgress(ctx context.Context, socketPath string, from Origin) error {
	if len(socketPath) > maxSocketPath {
		return fmt.Errorf("egress socket %s: the path is longer than the %d bytes that Linux allows; choose a "+
			"shorter state directory", socketPath, maxSocketPath)
	}
	if err := os.Remove(socketPath); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("egress socket: %w", err)
	}
	l, err := net.Listen("unix", socketPath)
	if err != nil {
		return fmt.Errorf("egress socket: %w", err)
	}
	defer l.Close()
	if err := os.Chmod(socketPath, 0o600); err != nil {
		return fmt.Errorf("egress socket: %w", err)
	}
	return f.connect(ctx, l, "", func(*http.Request) Origin { return from })
}

// ServeGateway answers HTTP CONNECT on a listener until ctx ends, for programs on the host that
// connect to a name in a private DNS zone, such as the API server of a private cluster. It
// simulates a management network that is peered with all others: each name is resolved in, and
// dialled from, the network to which its zone is linked. Every user of this computer can connect to
// the listener, so it admits only requests with the password, which must not be empty (proxy.URL).
// A request whose header Casement-From contains a private name is dialled from the network of that
// name and may also use addresses of machines.
func (f *Fabric) ServeGateway(ctx context.Context, l net.Listener, password string) error {
	if password == "" {
		return errors.New("the gateway has no password")
	}
	return f.connect(ctx, l, password, func(req *http.Request) Origin {
		if name := req.Header.Get("Casement-From"); name != "" {
			return f.originOf(name)
		}
		host, _, err := net.SplitHostPort(req.Host)
		if err != nil {
			return Origin{}
		}
		return f.originOf(host)
	})
}

// originOf returns the Origin in the first network that can resolve a private name.
func (f *Fabric) originOf(name string) Origin {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.ix.Records {
		if strings.EqualFold(r.Name, strings.TrimSuffix(name, ".")) && len(r.Networks) > 0 && len(r.IPs) > 0 {
			return Origin{VNetID: r.Networks[0], IP: r.IPs[0]}
		}
	}
	return Origin{}
}

// connect serves HTTP CONNECT on a listener; clients must send the password if it is not empty.
func (f *Fabric) connect(ctx context.Context, l net.Listener, password string, from func(*http.Request) Origin) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	ended := context.AfterFunc(f.ctx, func() { l.Close() })
	defer ended()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || f.ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("proxy at %s: %w", l.Addr(), err)
		}
		if !f.spawn(func() { f.egress(ctx, c, password, from) }) {
			c.Close()
			return nil
		}
	}
}

func (f *Fabric) egress(ctx context.Context, c net.Conn, password string, from func(*http.Request) Origin) {
	if !f.track(c) {
		return
	}
	defer f.untrack(c)
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	head := &io.LimitedReader{R: c, N: maxHead}
	r := bufio.NewReader(head)
	_ = c.SetReadDeadline(time.Now().Add(limit.Default().Head)) // a lost connection cannot be read either
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	head.N = math.MaxInt64 // the following bytes belong to the tunnel
	if password != "" && !proxy.Authorized(req, password) {
		answer(c, http.StatusProxyAuthRequired,
			"the password of the gateway is in the kubeconfigs of private clusters",
			"Proxy-Authenticate: "+proxy.Challenge)
		return
	}
	if req.Method != http.MethodConnect {
		answer(c, http.StatusMethodNotAllowed, "this socket takes CONNECT alone")
		return
	}
	to, err := f.Dial(ctx, from(req), "tcp", req.Host)
	if err != nil {
		f.log.Info("egress failed", "to", req.Host, "error", err)
		answer(c, http.StatusBadGateway, err.Error())
		return
	}
	if _, err := fmt.Fprint(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		to.Close()
		return
	}
	f.proxy(buffered{c, r}, to)
}

func answer(c net.Conn, status int, text string, headers ...string) {
	headers = append(headers, fmt.Sprintf("Content-Length: %d", len(text)), "Connection: close")
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\n%s\r\n\r\n%s", status, http.StatusText(status), strings.Join(headers, "\r\n"), text)
}

// buffered is a connection that first returns the bytes that were read with the request.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

func (b buffered) CloseWrite() error {
	if w, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return b.Close()
}
