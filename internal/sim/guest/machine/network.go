package machine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Network resolves names and opens connections for a guest's programs.
type Network interface {
	// Dial connects to an address, given by IP or by a name that Lookup resolves.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	// Lookup resolves a name as the guest's resolver does.
	Lookup(name string) (Found, error)
	// Pings reports whether an address answers pings. The address of a Service does not.
	Pings(ip netip.Addr) bool
}

// Found is an answer of the name service.
type Found struct {
	// Name is the full name that was found.
	Name string
	IPs  []netip.Addr
}

// LookupError says why a name has no address.
type LookupError struct {
	Name string
	// Silent is set if no server answered.
	Silent bool
	// Reason explains a result that a real server would not give.
	Reason string
}

// Error implements error.
func (e *LookupError) Error() string {
	if e.Silent {
		return fmt.Sprintf("lookup %s: no such host: no name server answers (%s)", e.Name, e.Reason)
	}
	return fmt.Sprintf("lookup %s: no such host (%s)", e.Name, e.Reason)
}

// Lookup resolves a name. It asks no server for an address, localhost, the guest's own name and names in the hosts
// file.
func (m *Machine) Lookup(name string) (Found, error) {
	if ip, err := netip.ParseAddr(name); err == nil {
		return Found{name, []netip.Addr{ip}}, nil
	}
	if ip, ok := m.lookupHosts(name); ok {
		return Found{name, []netip.Addr{ip}}, nil
	}
	switch {
	case strings.EqualFold(name, "localhost"):
		return Found{name, []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}}, nil
	case strings.EqualFold(name, m.Hostname()) && m.IP().IsValid():
		return Found{name, []netip.Addr{m.IP()}}, nil
	case m.Network == nil:
		return Found{}, &LookupError{name, true, "this guest has no network"}
	}
	return m.Network.Lookup(name)
}

// lookupHosts returns the address of a name in the hosts file.
func (m *Machine) lookupHosts(name string) (netip.Addr, bool) {
	file := "/etc/hosts"
	if m.IsWindows() {
		file = `C:\Windows\System32\drivers\etc\hosts`
	}
	data, err := m.Root.ReadFile(file)
	if err != nil {
		return netip.Addr{}, false
	}
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		for i, f := range fields {
			if i > 0 && strings.EqualFold(f, name) {
				if ip, err := netip.ParseAddr(fields[0]); err == nil && ip.Is4() {
					return ip, true
				}
			}
		}
	}
	return netip.Addr{}, false
}

// Connect opens a connection from the guest.
func (m *Machine) Connect(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := m.Lookup(host)
	if err != nil {
		return nil, err
	}
	if m.Network == nil {
		return nil, &LookupError{host, true, "this guest has no network"}
	}
	return m.Network.Dial(ctx, network, net.JoinHostPort(found.IPs[0].String(), port))
}
