package fabric

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"casement.dev/casement/internal/sim/connqueue"
)

// inside is a listener that only this process can reach. It has no socket, and its connections are
// socket pairs, because a process with thousands of machines cannot open four sockets for each.
type inside struct{ *connqueue.Listener }

func newInside(at netip.AddrPort) *inside {
	return &inside{connqueue.New(net.TCPAddrFromAddrPort(at))}
}

// dial connects from the address of a machine, or of the host if from is invalid, and waits until the connection is accepted.
func (i *inside) dial(ctx context.Context, from netip.Addr) (net.Conn, error) {
	near, far, err := socketPair()
	if err != nil {
		return nil, err
	}
	if !from.IsValid() {
		from = internetSource
	}
	source := net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	err = i.Give(ctx, podConn{far, i.Addr(), source})
	if err == nil {
		return podConn{near, source, i.Addr()}, nil
	}
	near.Close()
	far.Close()
	if errors.Is(err, net.ErrClosed) {
		err = &net.OpError{Op: "dial", Net: "tcp", Addr: i.Addr(), Err: syscall.ECONNREFUSED}
	}
	return nil, err
}
