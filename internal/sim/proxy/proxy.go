// Package proxy redirects clients with fixed endpoints to a handler on this computer: an HTTPS
// proxy (HTTPS_PROXY, the CONNECT method) that answers in place of the hosts it knows, with
// certificates of the caller's CA.
//
// Apart from that it is no proxy: it dials only servers on this computer, through its caller. All
// other hosts are refused, so that nothing leaves the computer. It answers only clients that have
// its password. The local plane, package fabric and tests may import it; it imports only packages
// limit and connqueue.
package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/connqueue"
)

// Config is the configuration of a proxy.
type Config struct {
	// TLS contains the certificates of the hosts.
	TLS *tls.Config
	// Handler answers the requests to the hosts; Request.Host is the name that the client
	// requested.
	Handler http.Handler
	// Serves reports whether HTTPS requests to a host (without its port) are answered.
	Serves func(host string) bool
	// Dial connects to a target, host and port, that is a server on this computer with a name of
	// Azure. If it returns false or is nil, the target is refused.
	Dial func(ctx context.Context, target string) (conn net.Conn, known bool, err error)
	// Plain returns the handler of a request in plain HTTP, or nil to refuse it; a nil Plain
	// refuses all.
	Plain func(*http.Request) http.Handler
	// Password is the password that clients present in Proxy-Authorization (see URL).
	Password string
	// Refused is called for each refused target; it may be nil.
	Refused func(target string)
}

// Serve serves on a listener until ctx ends; then it closes all connections.
func Serve(ctx context.Context, l net.Listener, cfg Config) error {
	tunnels := connqueue.New(l.Addr())
	bounds := limit.Default()
	inner, outer := bounds.Server(cfg.Handler), bounds.Server(&front{cfg, tunnels})
	inner.TLSConfig, l = cfg.TLS.Clone(), bounds.Listener(l)
	end := context.AfterFunc(ctx, func() { _, _ = outer.Close(), inner.Close() })
	defer end()
	ended := make(chan error, 2)
	go func() { ended <- inner.ServeTLS(tunnels, "", "") }()
	go func() { ended <- outer.Serve(l) }()
	first := <-ended
	_, _ = outer.Close(), inner.Close()
	second := <-ended
	for _, err := range []error{first, second} {
		if !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the proxy: %w", err)
		}
	}
	return nil
}

// front answers the HTTP requests of the proxy's clients.
type front struct {
	Config
	tunnels *connqueue.Listener
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !Authorized(r, f.Password):
		w.Header().Set("Proxy-Authenticate", Challenge)
		http.Error(w, "The proxy of the local Azure asks for the password in the address that 'casement azure "+
			"env --for proxy' prints.", http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		host, port, err := net.SplitHostPort(r.Host)
		switch {
		case err == nil && port == "443" && f.Serves(host):
			f.tunnel(w, func(c net.Conn) bool { return f.tunnels.Give(context.Background(), c) == nil })
		case err == nil && f.Dial != nil:
			f.connect(w, r)
		default:
			f.refuse(w, r.Host)
		}
	case r.URL.IsAbs():
		f.plain(w, r)
	default:
		http.Error(w, "This is a proxy: set HTTPS_PROXY to its address.", http.StatusBadRequest)
	}
}

func (f *front) plain(w http.ResponseWriter, r *http.Request) {
	var h http.Handler
	if f.Plain != nil {
		h = f.Plain(r)
	}
	if h == nil {
		f.refuse(w, r.URL.Host)
		return
	}
	h.ServeHTTP(w, r)
}

func (f *front) refuse(w http.ResponseWriter, target string) {
	if f.Refused != nil {
		f.Refused(target)
	}
	http.Error(w, "The proxy of the local Azure does not answer for "+target+", and lets nothing leave this machine.", http.StatusForbidden)
}

// connect connects the client's connection to its target.
func (f *front) connect(w http.ResponseWriter, r *http.Request) {
	to, known, err := f.Dial(r.Context(), r.Host)
	switch {
	case !known:
		f.refuse(w, r.Host)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		f.tunnel(w, func(c net.Conn) bool {
			go join(c, to)
			go join(to, c)
			return true
		})
	}
}

// join copies data between two connections in both directions, and closes both.
func join(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	_, _ = io.Copy(to, from) // a lost connection ends both directions
}

// tunnel takes over the client's connection and passes it to give.
func (f *front) tunnel(w http.ResponseWriter, give func(net.Conn) bool) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "CONNECT needs HTTP/1.1.", http.StatusHTTPVersionNotSupported)
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return // the connection is lost, so the client cannot receive an error
	}
	_ = conn.SetDeadline(time.Time{})
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		conn.Close()
		return
	}
	if !give(&early{Conn: conn, r: buffered.Reader}) {
		conn.Close()
	}
}

// early is a connection of which some bytes have been read already.
type early struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (e *early) Read(p []byte) (int, error) { return e.r.Read(p) }
