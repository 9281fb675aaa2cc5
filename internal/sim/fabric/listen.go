package fabric

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// Listener describes an address on which the fabric listens, or would listen if it could.
type Listener struct {
	// What is a description of the service for users.
	What string
	// Address is the requested address, Actual the socket's address. They differ if the operating
	// system denies a port below 1024 (see fallbackPort). If there is no socket, Actual is empty
	// and Reason is the cause.
	Address, Actual, Reason string
	// Backends and Healthy count the machines behind a load balancer's port.
	Backends, Healthy int
}

// fallbackPort returns the replacement for a well-known port that cannot be bound without
// privilege: 2222 for 22, otherwise the port plus 8000 (8080 for 80, 8443 for 443).
func fallbackPort(port uint16) uint16 {
	if port == 22 {
		return 2222
	}
	return port + 8000
}

// openListener is a listener that ends with the fabric at the latest.
type openListener struct {
	net.Listener
	f     *Fabric
	asked netip.AddrPort
	what  string
	node  bool // Listeners lists it separately, not as part of a binding
}

// inside returns the listener without a socket, or nil if it has a socket; l may be nil.
func (l *openListener) inside() *inside {
	if l == nil {
		return nil
	}
	in, _ := l.Listener.(*inside)
	return in
}

// port returns the port of the socket for a requested port; l may be nil.
func (l *openListener) port(requested uint16) uint16 {
	if l == nil {
		return requested
	}
	return actual(l.Listener).Port()
}

// Close ends the listener and removes it from the fabric.
func (l *openListener) Close() error {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	return l.closeLocked()
}

func (l *openListener) closeLocked() error {
	if _, open := l.f.owned[l]; open && l.node && l.inside() == nil {
		l.f.sockets--
	}
	delete(l.f.owned, l)
	if l.f.ports[l.asked] == l {
		delete(l.f.ports, l.asked)
	}
	return l.Listener.Close()
}

// Listen opens a port of a machine. A port below 1024 that the system denies is replaced by its
// fallbackPort, which Dial and Listeners use. After Config.Sockets ports, further ports have no
// socket: Dial reaches them, but programs of the host do not. The listener ends with the fabric at
// the latest.
func (f *Fabric) Listen(vnetID string, ip netip.Addr, port uint16, what string) (net.Listener, error) {
	at, err := f.Loopback(vnetID, ip)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.openLocked(netip.AddrPortFrom(at, port), what, true)
}

func (f *Fabric) openLocked(at netip.AddrPort, what string, node bool) (*openListener, error) {
	if f.closed {
		return nil, errClosed
	}
	open := &openListener{f: f, asked: at, what: what, node: node}
	if node && f.c.Sockets > 0 && f.sockets >= f.c.Sockets {
		if f.ports[at] != nil {
			return nil, fmt.Errorf("%s: listen on %s: %w", what, at, syscall.EADDRINUSE)
		}
		open.Listener = newInside(at)
	} else {
		l, err := f.socket(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		open.Listener = l
		if node {
			f.sockets++
		}
	}
	f.owned[open] = struct{}{}
	f.ports[at] = open
	return open, nil
}

// socket listens on an address, or on the fallbackPort of a port that the system denies.
func (f *Fabric) socket(at netip.AddrPort) (net.Listener, error) {
	l, err := f.c.Listen(at.String())
	if err == nil || at.Port() >= 1024 {
		return l, err
	}
	l, again := f.c.Listen(netip.AddrPortFrom(at.Addr(), fallbackPort(at.Port())).String())
	if again != nil {
		return nil, fmt.Errorf("%w; and on the fallback port: %w", err, again)
	}
	return l, nil
}

func actual(l net.Listener) netip.AddrPort {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

// Listeners returns the frontends of load balancers and public addresses with their health, and the
// ports opened by Listen and by kube-proxies, sorted by address.
func (f *Fabric) Listeners() []Listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Listener
	for l := range f.owned {
		if !l.node {
			continue
		}
		if l.inside() != nil {
			out = append(out, Listener{What: l.what, Address: l.asked.String(), Reason: fmt.Sprintf("machines of the plane alone "+
				"reach it: %d ports of machines have sockets, as the limit of open files has it", f.c.Sockets)})
			continue
		}
		out = append(out, Listener{What: l.what, Address: l.asked.String(), Actual: l.Listener.Addr().String()})
	}
	for _, b := range f.bindings {
		s := Listener{What: b.what, Address: b.at.String(), Reason: b.reason, Backends: len(b.backends), Healthy: b.healthy}
		if b.listener != nil {
			s.Actual = b.listener.Addr().String()
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Listener) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.What, b.What))
	})
	return out
}
