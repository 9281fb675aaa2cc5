package podrun

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"casement.dev/casement/internal/sim/connqueue"
)

// ServeEgress answers HTTP CONNECT on a unix socket until ctx ends, for connections of the API
// server into its cluster: to this node's pods (webhooks) and kubelet (logs). All other connections
// are refused.
func (r *Runner) ServeEgress(ctx context.Context, socketPath string) error {
	if err := os.Remove(socketPath); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("egress socket: %w", err)
	}
	l, err := net.Listen("unix", socketPath)
	if err != nil {
		return fmt.Errorf("egress socket: %w", err)
	}
	if err := os.Chmod(socketPath, 0o600); err != nil {
		return fmt.Errorf("egress socket: %w", err)
	}
	// Only this egress can reach the kubelet, which has no socket.
	kubelet := connqueue.New(&net.UnixAddr{Name: "kubelet", Net: "unix"})
	api := &http.Server{Handler: r.kubeletAPI(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{r.cert}},
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(r.cfg.Log.Handler(), slog.LevelDebug)}
	go func() { _ = api.ServeTLS(kubelet, "", "") }() // returns when api is closed
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodConnect {
			http.Error(w, "this socket takes CONNECT alone", http.StatusMethodNotAllowed)
			return
		}
		to, err := r.dial(ctx, kubelet, req.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		join(w, to)
	})}
	stop := context.AfterFunc(ctx, func() { s.Close(); api.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("egress socket: %w", err)
	}
	return nil
}

func (r *Runner) dial(ctx context.Context, kubelet *connqueue.Listener, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("%s is no address of this node", address)
	}
	if to.Addr() == nodeIP && to.Port() == kubeletPort {
		ours, theirs := net.Pipe()
		if err := kubelet.Give(ctx, theirs); err != nil {
			return nil, err
		}
		return ours, nil
	}
	r.mu.Lock()
	var port uint16
	for _, w := range r.workers {
		if w.ip == to.Addr() {
			port = w.ports[int32(to.Port())]
		}
	}
	r.mu.Unlock()
	if port == 0 {
		return nil, fmt.Errorf("%s is no port of a pod here", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
}

// join takes over the client's connection and copies in both directions until one ends.
func join(w http.ResponseWriter, to net.Conn) {
	defer to.Close()
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(to, buffered); to.Close() })
	both.Go(func() { _, _ = io.Copy(from, to); from.Close() })
	both.Wait()
}
