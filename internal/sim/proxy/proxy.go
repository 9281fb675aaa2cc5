// Package proxy leads clients whose endpoints are fixed to a handler on this machine: an HTTPS proxy
// (HTTPS_PROXY, the CONNECT method) that answers for the hosts it knows, with certificates of the caller's
// CA, in the place of those hosts.
//
// It is no proxy otherwise: it dials only servers on this machine that its caller connects to. A host that
// neither knows is refused, so that nothing leaves the machine. It answers only clients that have its
// password. The local plane, package fabric and tests may import it; it imports packages limit and
// connqueue alone.
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

// Config says whom a Proxy answers for.
type Config struct {
	// TLS holds the certificates of the hosts.
	TLS *tls.Config
	// Handler answers the requests to them; Request.Host is the name that the client requested.
	Handler http.Handler
	// Serves reports whether HTTPS to a host (without its port) is answered.
	Serves func(host string) bool
	// Dial connects to a target, host and port, that is on this machine under a name
	// of Azure; false, or no Dial, refuses it.
	Dial func(ctx context.Context, target string) (conn net.Conn, known bool, err error)
	// Plain returns who answers a request in plain HTTP, nil for no one; without it
	// none is answered.
	Plain func(*http.Request) http.Handler
	// Password is the password that clients present in Proxy-Authorization (see URL).
	Password string
	// Refused, when set, is called for each target that was refused.
	Refused func(target string)
}

// Serve answers on a listener until ctx ends, and ends its connections then.
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

// connect joins the client's connection with one to its target.
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
	_, _ = io.Copy(to, from) // a connection that is lost ends both
}

// tunnel gives the client's connection to another.
func (f *front) tunnel(w http.ResponseWriter, give func(net.Conn) bool) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "CONNECT needs HTTP/1.1.", http.StatusHTTPVersionNotSupported)
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return // the connection is lost, and with it the reader of an error
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

// early is a connection some of whose bytes have been read already.
type early struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (e *early) Read(p []byte) (int, error) { return e.r.Read(p) }
