// Package connqueue is a listener without a socket: it accepts connections that other code of this
// process has accepted or made.
//
// It makes no connections and knows no protocol. It imports nothing of the module; packages of the
// simulator may import it.
package connqueue

import (
	"context"
	"net"
	"sync"
)

// Listener is a listener for connections that are passed to Give. Its methods may be called
// concurrently.
type Listener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// New returns a listener with the given address.
func New(addr net.Addr) *Listener {
	return &Listener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Give passes a connection to Accept and waits until Accept returns it. After an error
// (net.ErrClosed if the listener is closed, or the error of ctx) the caller still owns the
// connection.
func (l *Listener) Give(ctx context.Context, c net.Conn) error {
	select {
	case l.conns <- c:
		return nil
	case <-l.closed:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.addr }
