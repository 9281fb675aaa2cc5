// Package limit keeps a slow or greedy client from blocking a server for others: it limits the time for a request's
// head and body, idle connections, and the number of connections of one listener. It also keeps a greedy guest from
// exhausting the process: it limits the usage of all its programs together.
//
// It does not limit handlers: slow responses, and connections that a handler takes over (tunnels, websockets), may last
// as long as they need. Servers of the simulator and of the local plane use it; it imports nothing of the module.
package limit

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
)

// Limits are the limits of one server.
type Limits struct {
	// Head and Body are the maximum times for reading the head and the body of a request; Idle is the maximum time
	// between requests.
	Head, Body, Idle time.Duration
	// Connections is the maximum number of concurrent connections of a listener; further connections wait.
	Connections int
}

// Default returns the limits for every listener that other users of the machine can reach.
func Default() Limits {
	return Limits{Head: 10 * time.Second, Body: 60 * time.Second, Idle: 2 * time.Minute, Connections: quarter()}
}

// maxConnections is the maximum for one listener, even if the process may open many files.
const maxConnections = 4096

// quarter returns a quarter of the files that the process may open, so that no listener uses all of them.
func quarter() int { return int(min(max(Files()/4, 16), maxConnections)) }

// Files returns the number of files that this process may open; 1024, the usual limit, if it is not known.
func Files() uint64 {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 1024
	}
	return files.Cur
}

// Sockets returns the number of machines' ports that are sockets of this process: an eighth of the files that it may
// open. A machine has four ports, so with many machines they would use most of the files.
func Sockets() int { return int(min(Files()/8, 1<<16)) }

// Server returns a server that serves h within the limits.
func (l Limits) Server(h http.Handler) *http.Server {
	return &http.Server{Handler: l.Handler(h), ReadHeaderTimeout: l.Head, IdleTimeout: l.Idle}
}

// Listener returns a listener that limits the connections of inner.
func (l Limits) Listener(inner net.Listener) net.Listener {
	return netutil.LimitListener(inner, l.Connections)
}

// guests is the number of connections of all machines of the simulation together.
var guests atomic.Int64

// Guests returns a listener that limits the connections of one machine together with those of all other machines: there
// are thousands of listeners in one process.
func Guests(inner net.Listener) net.Listener { return shared{inner, int64(quarter())} }

// shared is a listener whose connections are limited together with those of other listeners.
type shared struct {
	net.Listener
	bound int64
}

// Accept implements net.Listener. A connection beyond the limit is closed immediately, so that it delays no
// other listener.
func (l shared) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if guests.Add(1) <= l.bound {
			return &counted{Conn: c, release: sync.OnceFunc(func() { guests.Add(-1) })}, nil
		}
		guests.Add(-1)
		_ = c.Close() // the connection has not been used
	}
}

// counted is a connection that occupies a slot until it is closed.
type counted struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// Handler returns a handler that limits the time for reading the body of a request. The limit ends with the body, so
// that the response may take longer.
func (l Limits) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.ContentLength == 0 {
			h.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		if control.SetReadDeadline(time.Now().Add(l.Body)) == nil { // not every writer has a connection
			r.Body = &body{ReadCloser: r.Body, end: func() { _ = control.SetReadDeadline(time.Time{}) }} // the connection may be gone
		}
		h.ServeHTTP(w, r)
	})
}

// body calls a function when the request body has been read.
type body struct {
	io.ReadCloser
	end  func()
	once sync.Once
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.once.Do(b.end)
	}
	return n, err
}
