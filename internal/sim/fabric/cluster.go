package fabric

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
)

// Cluster is the network inside one Kubernetes cluster: pods, services and the
// kube-proxies of its nodes.
type Cluster struct {
	f *Fabric

	mu       sync.Mutex
	pods     map[netip.Addr]*pod
	rules    *rules
	proxies  map[place]*Proxy
	resolver func(name string) (Answer, bool)
	next     uint64
}

type pod struct {
	namespace, name string
	ports           map[uint16]bool
	serve           func(port int32, conn net.Conn)
	conns           map[net.Conn]struct{}
}

// Cluster returns the network of the cluster with a key; the first call creates it.
func (f *Fabric) Cluster(key string) *Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clusters[key]
	if c == nil {
		c = &Cluster{f: f, pods: map[netip.Addr]*pod{}, rules: &rules{}, proxies: map[place]*Proxy{}}
		f.clusters[key] = c
	}
	return c
}

func (f *Fabric) findCluster(key string) *Cluster {
	if key == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clusters[key]
}

// AddPod makes the TCP ports of a pod's address reachable in the cluster. serve handles one connection and
// returns when the connection has ended.
func (c *Cluster) AddPod(namespace, name string, ip netip.Addr, ports []int32, serve func(port int32, conn net.Conn)) {
	p := &pod{namespace: namespace, name: name, ports: map[uint16]bool{}, serve: serve, conns: map[net.Conn]struct{}{}}
	for _, port := range ports {
		p.ports[uint16(port)] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[ip.Unmap()] = p
}

// RemovePod removes the address if the pod still has it, and ends its connections.
func (c *Cluster) RemovePod(namespace, name string, ip netip.Addr) {
	c.mu.Lock()
	p := c.pods[ip.Unmap()]
	if p == nil || p.namespace != namespace || p.name != name {
		c.mu.Unlock()
		return
	}
	delete(c.pods, ip.Unmap())
	var open []net.Conn
	for conn := range p.conns {
		open = append(open, conn)
	}
	c.mu.Unlock()
	for _, conn := range open {
		conn.Close()
	}
}

// Answer is the answer of a cluster's DNS to a name.
type Answer struct {
	IPs []netip.Addr
	// Alias is the name of which the requested name is an alias, as for a Service of type
	// ExternalName; IPs is empty then.
	Alias string
}

// SetResolver sets the cluster's DNS; nil removes it.
func (c *Cluster) SetResolver(resolve func(name string) (Answer, bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resolver = resolve
}

func (c *Cluster) resolve(name string) (netip.Addr, bool) {
	c.mu.Lock()
	resolve := c.resolver
	c.mu.Unlock()
	if resolve == nil {
		return netip.Addr{}, false
	}
	if a, ok := resolve(name); ok && len(a.IPs) > 0 {
		return a.IPs[0], true
	}
	return netip.Addr{}, false
}

// Lookup resolves a full name like the cluster's DNS server; served is false while no DNS server
// runs.
func (c *Cluster) Lookup(name string) (a Answer, found, served bool) {
	c.mu.Lock()
	resolve := c.resolver
	c.mu.Unlock()
	if resolve == nil {
		return Answer{}, false, false
	}
	a, found = resolve(name)
	return a, found, true
}

// HasPodIP reports whether ip is the address of a pod.
func (c *Cluster) HasPodIP(ip netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[ip] != nil
}

// Services returns the services of the cluster in kube-proxy's view.
func (c *Cluster) Services() []Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rules.services)
}

// HasServiceIP reports whether ip is the address of a Service.
func (c *Cluster) HasServiceIP(ip netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.rules.services {
		if slices.Contains(s.ClusterIPs, ip) || slices.Contains(s.Ingress, ip) {
			return true
		}
	}
	return false
}

// dial connects to a pod or a service; found is false if the address is neither.
func (c *Cluster) dial(ctx context.Context, from Origin, to netip.AddrPort) (conn net.Conn, found bool, err error) {
	c.mu.Lock()
	p := c.pods[to.Addr()]
	t, virtual := c.rules.virtual[to]
	c.mu.Unlock()
	switch {
	case p != nil:
		conn, err = c.dialPod(p, from.IP, to)
		return conn, true, err
	case virtual:
		conn, err = c.dialTarget(ctx, from, t, "", to)
		return conn, true, err
	}
	return nil, false, nil
}

// dialPod passes one end of a socket pair to the pod and returns the other.
func (c *Cluster) dialPod(p *pod, source netip.Addr, to netip.AddrPort) (net.Conn, error) {
	if !p.ports[to.Port()] {
		return nil, refusedError(to, fmt.Sprintf("pod %s/%s has no such port", p.namespace, p.name))
	}
	near, far, err := socketPair()
	if err != nil {
		return nil, err
	}
	if !source.IsValid() {
		source = internetSource
	}
	from, at := net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), net.TCPAddrFromAddrPort(to)
	server := podConn{far, at, from}
	c.mu.Lock()
	p.conns[server] = struct{}{}
	c.mu.Unlock()
	started := c.f.spawn(func() {
		defer func() {
			c.f.untrack(server)
			c.mu.Lock()
			delete(p.conns, server)
			c.mu.Unlock()
		}()
		if c.f.track(server) {
			p.serve(int32(to.Port()), server)
		}
	})
	if !started {
		near.Close()
		far.Close()
		return nil, errClosed
	}
	return podConn{near, from, at}, nil
}

// podConn is one end of a socket pair with the addresses of the simulated connection.
type podConn struct {
	*net.UnixConn
	local, remote net.Addr
}

func (c podConn) LocalAddr() net.Addr  { return c.local }
func (c podConn) RemoteAddr() net.Addr { return c.remote }

func socketPair() (a, b *net.UnixConn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	conns := [2]*net.UnixConn{}
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(file)
		file.Close()
		if err != nil {
			if i == 0 {
				syscall.Close(fds[1])
			} else {
				conns[0].Close()
			}
			return nil, nil, fmt.Errorf("socket pair: %w", err)
		}
		conns[i] = c.(*net.UnixConn)
	}
	return conns[0], conns[1], nil
}
