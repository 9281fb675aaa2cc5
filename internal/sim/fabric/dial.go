package fabric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// ErrUnreachable is the error for an address outside of the local plane. Nothing was sent.
var ErrUnreachable = errors.New("no route: not an address of the local plane")

// timeoutError is the error for a flow that a security rule drops. It is returned immediately,
// where a real connection would time out.
type timeoutError struct{ reason string }

func (e timeoutError) Error() string   { return "connection timed out (" + e.reason + ")" }
func (e timeoutError) Timeout() bool   { return true }
func (e timeoutError) Temporary() bool { return true }

func droppedError(to netip.AddrPort, v Verdict) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: timeoutError{"dropped by " + v.String()}}
}

func refusedError(to netip.AddrPort, reason string) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: fmt.Errorf("%w (%s)", syscall.ECONNREFUSED, reason)}
}

// Dial connects from a machine (or, with a zero Origin, from the Internet) to an address of the
// plane: machines and internal frontends of the origin's network and its peers, public addresses,
// and pods and services of its cluster; by IP or by a name that the origin's DNS resolves.
// 127.0.0.1 is the origin itself. Any other address is passed to Config.External or fails with
// ErrUnreachable; a flow that a security rule drops fails with a timeout error.
func (f *Fabric) Dial(ctx context.Context, from Origin, network, address string) (net.Conn, error) {
	from.VNetID = fold(from.VNetID)
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("dial %s: port %q is not a number of 16 bits", address, portText)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		var ok bool
		if ip, ok = f.Resolve(from, host); !ok {
			return f.external(ctx, from, network, address)
		}
	}
	to := netip.AddrPortFrom(ip.Unmap(), uint16(port))
	c, err := f.dial(ctx, from, network, to)
	if errors.Is(err, ErrUnreachable) {
		return f.external(ctx, from, network, address)
	}
	return c, err
}

func (f *Fabric) external(ctx context.Context, from Origin, network, address string) (net.Conn, error) {
	if f.c.External != nil {
		return f.c.External(ctx, from, network, address)
	}
	return nil, fmt.Errorf("dial %s: %w", address, ErrUnreachable)
}

func (f *Fabric) dial(ctx context.Context, from Origin, network string, to netip.AddrPort) (net.Conn, error) {
	ip := to.Addr()
	if ip.IsLoopback() {
		if vnet, own, ok := f.addr.vnetOf(ip); ok {
			from.VNetID, ip = vnet, own
			to = netip.AddrPortFrom(own, to.Port())
		} else if !publicRange.Contains(ip) && !from.host() {
			return f.dialMachine(ctx, from.IP, place{from.VNetID, from.IP}, network, to.Port())
		}
	}
	if c := f.findCluster(from.Cluster); c != nil && strings.HasPrefix(network, "tcp") {
		if conn, found, err := c.dial(ctx, from, to); found {
			return conn, err
		}
	}
	f.mu.Lock()
	ix := f.ix
	b := f.bindingAt(from, to)
	f.mu.Unlock()
	if b != nil {
		return f.dialFrontend(ctx, ix, from, b)
	}
	if p := ix.publicIP[ip]; p != nil {
		return f.dialPublic(ctx, ix, from, p, network, to)
	}
	if from.host() {
		return nil, ErrUnreachable
	}
	at, ok := ix.locate(from.VNetID, ip)
	if !ok {
		return nil, ErrUnreachable
	}
	if ix.configs[at] == nil {
		return nil, refusedError(to, "the load balancer has no rule for the port")
	}
	if at != (place{from.VNetID, from.IP}) {
		if err := f.admit(ix, from, at, network, to); err != nil {
			return nil, err
		}
	}
	return f.dialMachine(ctx, from.IP, at, network, to.Port())
}

// admit returns an error if a security group at either end of a flow inside virtual networks drops
// the flow.
func (f *Fabric) admit(ix *index, from Origin, to place, network string, at netip.AddrPort) error {
	flow := Flow{Protocol: strings.TrimRight(network, "46"), Source: from.IP, Destination: at.Addr(), DestinationPort: at.Port()}
	if v := ix.outbound(place{from.VNetID, from.IP}, flow); !v.Allow {
		return droppedError(at, v)
	}
	if v := ix.inbound(to, flow, false, false); !v.Allow {
		return droppedError(at, v)
	}
	return nil
}

// bindingAt returns the frontend port that an address means for an origin, or nil.
func (f *Fabric) bindingAt(from Origin, to netip.AddrPort) *binding {
	for _, b := range f.bindings {
		if b.frontend != to || b.uncarried {
			continue
		}
		if b.public {
			return b
		}
		if at, ok := f.ix.locate(from.VNetID, to.Addr()); ok && at.vnet == b.vnet {
			return b
		}
	}
	return nil
}

func (f *Fabric) dialFrontend(ctx context.Context, ix *index, from Origin, b *binding) (net.Conn, error) {
	source := internetSource
	if !from.host() {
		flow := Flow{Protocol: "tcp", Source: from.IP, Destination: b.frontend.Addr(), DestinationPort: b.frontend.Port()}
		if v := ix.outbound(place{from.VNetID, from.IP}, flow); !v.Allow {
			return nil, droppedError(b.frontend, v)
		}
		if !b.public {
			source = from.IP
		}
	}
	return f.dialBinding(ctx, b, source)
}

// dialPublic connects to a machine by its own public address.
func (f *Fabric) dialPublic(ctx context.Context, ix *index, from Origin, p *PublicIP, network string, to netip.AddrPort) (net.Conn, error) {
	for at, c := range ix.configs {
		if c.PublicIP != p.ID {
			continue
		}
		flow := Flow{Protocol: strings.TrimRight(network, "46"), Source: internetSource, Destination: at.ip, DestinationPort: to.Port()}
		if v := ix.inbound(at, flow, true, p.Basic); !v.Allow {
			return nil, droppedError(to, v)
		}
		return f.dialMachine(ctx, from.IP, at, network, to.Port())
	}
	return nil, refusedError(to, "nothing is bound to the public address")
}

// dialMachine connects to a port of a machine without checking security rules.
func (f *Fabric) dialMachine(ctx context.Context, source netip.Addr, at place, network string, port uint16) (net.Conn, error) {
	lo, err := f.addr.vnet(at.vnet, at.ip)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	closed := f.closed
	open := f.ports[netip.AddrPortFrom(lo, port)]
	f.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	tcp := strings.HasPrefix(network, "tcp")
	var own netip.Addr
	if source.IsValid() && tcp {
		// The peer sees the address of the calling machine, as in the virtual network.
		own, _ = f.addr.lookup(vnetKey(at.vnet, source))
	}
	var c net.Conn
	if in := open.inside(); in != nil && tcp {
		c, err = in.dial(ctx, own)
	} else if at := netip.AddrPortFrom(lo, port); open == nil && Foreign(network, at) {
		return nil, refusedError(at, "nothing of the machine listens there")
	} else {
		var d net.Dialer
		if own.IsValid() {
			d.LocalAddr = &net.TCPAddr{IP: own.AsSlice()}
		}
		c, err = d.DialContext(ctx, network, netip.AddrPortFrom(lo, open.port(port)).String())
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s port %d: %w", at.ip, port, err)
	}
	return c, nil
}

// HasMachineIP reports whether ip belongs to a machine in the origin's virtual network or in one
// that is peered with it.
func (f *Fabric) HasMachineIP(from Origin, ip netip.Addr) bool {
	f.mu.Lock()
	ix := f.ix
	f.mu.Unlock()
	at, ok := ix.locate(fold(from.VNetID), ip)
	return ok && ix.configs[at] != nil
}

// Resolve resolves a name like the origin's DNS: services of its cluster, private zones linked to
// its network, machines of its network, labels of public addresses.
func (f *Fabric) Resolve(from Origin, name string) (netip.Addr, bool) {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	vnet := fold(from.VNetID)
	if name == "localhost" {
		return internetSource, true
	}
	if c := f.findCluster(from.Cluster); c != nil {
		if ip, ok := c.resolve(name); ok {
			return ip, true
		}
	}
	f.mu.Lock()
	ix := f.ix
	f.mu.Unlock()
	for _, r := range ix.Records {
		if r.Name == name && len(r.IPs) > 0 {
			for _, n := range r.Networks {
				if n == vnet {
					return r.IPs[0], true
				}
			}
		}
	}
	for _, p := range ix.PublicIPs {
		if p.FQDN == name && p.IP.IsValid() {
			return p.IP, true
		}
	}
	for _, n := range ix.Interfaces {
		if n.Machine != "" && n.Machine[strings.LastIndexByte(n.Machine, '/')+1:] == name {
			for _, c := range n.Configs {
				if c.VNet == vnet && c.IP.IsValid() {
					return c.IP, true
				}
			}
		}
	}
	return netip.Addr{}, false
}
