package fabric

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// inside is a listener that only this process reaches. It has no socket, and its connections are socket pairs: a
// process that has thousands of machines cannot open four sockets for each.
type inside struct {
	at      net.Addr
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newInside(at netip.AddrPort) *inside {
	return &inside{at: net.TCPAddrFromAddrPort(at), waiting: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *inside) Accept() (net.Conn, error) {
	select {
	case c := <-l.waiting:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *inside) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *inside) Addr() net.Addr { return l.at }

// dial connects from the address of a machine, or of the host if from is invalid, and waits until the connection is accepted.
func (l *inside) dial(ctx context.Context, from netip.Addr) (net.Conn, error) {
	near, far, err := socketPair()
	if err != nil {
		return nil, err
	}
	if !from.IsValid() {
		from = internetSource
	}
	source := net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	var failed error
	select {
	case l.waiting <- podConn{far, l.at, source}:
		return podConn{near, source, l.at}, nil
	case <-l.closed:
		failed = &net.OpError{Op: "dial", Net: "tcp", Addr: l.at, Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		failed = ctx.Err()
	}
	near.Close()
	far.Close()
	return nil, failed
}
