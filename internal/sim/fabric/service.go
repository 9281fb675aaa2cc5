package fabric

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
)

// Service is a Kubernetes Service with its endpoints, in kube-proxy's view. Windows differs in ways
// that are not simulated: there, a node cannot reach its own node ports, and externalTrafficPolicy
// Local needs direct server return.
type Service struct {
	Namespace, Name string
	// ClusterIPs answer inside the cluster; Ingress (status.loadBalancer and externalIPs) answers
	// also on each node that runs a kube-proxy.
	ClusterIPs, Ingress []netip.Addr
	// ClientIP is set for session affinity by client address.
	ClientIP bool
	// Local is set for externalTrafficPolicy: Local; HealthCheckNodePort is its port.
	Local               bool
	HealthCheckNodePort uint16
	Ports               []ServicePort
}

// ServicePort is a port of a service. Only TCP is carried.
type ServicePort struct {
	Name           string
	Port, NodePort uint16
	Endpoints      []Endpoint
}

// Endpoint is a ready endpoint of a service, with its node if it is known.
type Endpoint struct {
	Addr netip.AddrPort
	Node string
	// Terminating endpoints are chosen only if there are no others (KEP-1669).
	Terminating bool
}

// rules maps addresses and ports to the services of a cluster, like the rules of iptables or HNS.
// It is immutable.
type rules struct {
	services []Service
	virtual  map[netip.AddrPort]target // cluster and ingress addresses
	byNode   map[uint16]target         // node ports
}

type target struct {
	service *Service
	port    *ServicePort
}

func (t target) String() string { return t.service.Namespace + "/" + t.service.Name }

// healthzPort is the port on which kube-proxy answers health checks.
const healthzPort = 10256

// SetServices replaces the services of the cluster.
func (c *Cluster) SetServices(services []Service) {
	services = slices.Clone(services)
	virtual, byNode := map[netip.AddrPort]target{}, map[uint16]target{}
	for i := range services {
		s := &services[i]
		for j := range s.Ports {
			t := target{s, &s.Ports[j]}
			for _, ip := range s.ClusterIPs {
				virtual[netip.AddrPortFrom(ip, t.port.Port)] = t
			}
			for _, ip := range s.Ingress {
				virtual[netip.AddrPortFrom(ip, t.port.Port)] = t
			}
			if t.port.NodePort != 0 {
				byNode[t.port.NodePort] = t
			}
		}
	}
	c.mu.Lock()
	c.rules = &rules{services, virtual, byNode}
	var proxies []*Proxy
	for _, p := range c.proxies {
		proxies = append(proxies, p)
	}
	c.mu.Unlock()
	for _, p := range proxies {
		p.sync()
	}
}

// choose returns one of a target's endpoints. If node is set, only endpoints on that node count.
func (c *Cluster) choose(t target, source netip.Addr, node string) (Endpoint, bool) {
	endpoints := t.port.Endpoints
	if node != "" {
		endpoints = slices.DeleteFunc(slices.Clone(endpoints), func(e Endpoint) bool { return e.Node != node })
	}
	if stay := slices.DeleteFunc(slices.Clone(endpoints), func(e Endpoint) bool { return e.Terminating }); len(stay) > 0 {
		endpoints = stay
	}
	if len(endpoints) == 0 {
		return Endpoint{}, false
	}
	if t.service.ClientIP {
		h := fnv.New32a()
		h.Write(source.AsSlice())
		return endpoints[h.Sum32()%uint32(len(endpoints))], true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return endpoints[c.next%uint64(len(endpoints))], true
}

func (c *Cluster) dialTarget(ctx context.Context, from Origin, t target, node string, to netip.AddrPort) (net.Conn, error) {
	e, ok := c.choose(t, from.IP, node)
	if !ok {
		return nil, refusedError(to, fmt.Sprintf("service %s has no ready endpoint", t))
	}
	c.mu.Lock()
	p := c.pods[e.Addr.Addr()]
	c.mu.Unlock()
	if p != nil {
		return c.dialPod(p, from.IP, e.Addr)
	}
	from.Cluster = "" // an endpoint is not a service
	return c.f.dial(ctx, from, "tcp", e.Addr)
}

// Proxy is the kube-proxy of one node, with the rules that it created on the node.
type Proxy struct {
	c       *Cluster
	node    string
	origin  Origin
	at      place
	machine <-chan struct{} // closed when the machine ends

	lock    chan struct{}            // a lock for the fields below, except last
	open    map[uint16]*openListener // by port
	running int                      // a DaemonSet may start one before it stops another
	closed  bool
	last    *rules // the rules of a stopped proxy; Cluster.mu protects it
}

// StartProxy runs the kube-proxy of a node until Stop: node ports open on the node's address, and traffic for ingress addresses
// that a load balancer delivers to the node is accepted. The rules remain until the machine has ended.
func (c *Cluster) StartProxy(machine context.Context, node string, origin Origin) *Proxy {
	origin.VNetID = fold(origin.VNetID)
	at := place{origin.VNetID, origin.IP}
	c.mu.Lock()
	old := c.proxies[at]
	p := old
	if old == nil || old.machine != machine.Done() {
		p = &Proxy{
			c: c, node: node, origin: origin, at: at, machine: machine.Done(),
			open: map[uint16]*openListener{}, lock: make(chan struct{}, 1),
		}
		c.proxies[at] = p
		context.AfterFunc(machine, p.close)
	}
	c.mu.Unlock()
	if old != nil && old != p {
		old.close()
	}
	p.lock <- struct{}{}
	p.running++
	c.mu.Lock()
	p.last = nil
	c.mu.Unlock()
	<-p.lock
	p.sync()
	return p
}

// Stop ends the proxy's process: its health checks no longer answer. The rules that it created
// remain on the node unchanged and carry traffic. Source: kube-proxy removes them only with
// --cleanup (kubernetes.io/docs/reference/command-line-tools-reference/kube-proxy).
func (p *Proxy) Stop() {
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	if p.running--; p.running > 0 {
		return
	}
	p.c.mu.Lock()
	p.last = p.c.rules
	p.c.mu.Unlock()
	p.closePorts(func(port uint16) bool { _, ok := p.last.byNode[port]; return ok })
}

// close ends the proxy and its rules. Open connections continue.
func (p *Proxy) close() {
	p.c.mu.Lock()
	if p.c.proxies[p.at] == p {
		delete(p.c.proxies, p.at)
	}
	p.c.mu.Unlock()
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	p.closed = true
	p.closePorts(func(uint16) bool { return false })
}

// closePorts closes the ports for which keep is false. The caller has locked p.
func (p *Proxy) closePorts(keep func(port uint16) bool) {
	for port, l := range p.open {
		if !keep(port) {
			l.Close()
			delete(p.open, port)
		}
	}
}

// rules returns the node's rules: the cluster's current rules, or the last rules of a stopped
// proxy.
func (p *Proxy) rules() *rules {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if p.last != nil {
		return p.last
	}
	return p.c.rules
}

// sync opens and closes the ports of the node.
func (p *Proxy) sync() {
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	if p.running == 0 || p.closed {
		return
	}
	want := map[uint16]string{healthzPort: "kube-proxy health check on " + p.node}
	now := p.rules()
	for port, t := range now.byNode {
		want[port] = fmt.Sprintf("node port of %s on %s", t, p.node)
	}
	for _, s := range now.services {
		if s.HealthCheckNodePort != 0 {
			want[s.HealthCheckNodePort] = fmt.Sprintf("health check of %s/%s on %s", s.Namespace, s.Name, p.node)
		}
	}
	p.closePorts(func(port uint16) bool { return want[port] != "" })
	for port, what := range want {
		if p.open[port] != nil {
			continue
		}
		l, err := p.c.f.Listen(p.origin.VNetID, p.origin.IP, port, what)
		if err != nil {
			p.c.f.log.Warn("kube-proxy cannot listen", "node", p.node, "port", port, "error", err)
			continue
		}
		open := l.(*openListener)
		p.open[port] = open
		p.c.f.spawn(func() { p.accept(port, open) })
	}
}

func (p *Proxy) accept(port uint16, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if !p.c.f.spawn(func() { p.serve(port, conn) }) {
			conn.Close()
			return
		}
	}
}

func (p *Proxy) serve(port uint16, conn net.Conn) {
	if !p.c.f.track(conn) {
		return
	}
	defer p.c.f.untrack(conn)
	t, isService := p.rules().byNode[port]
	if !isService {
		p.answerHealth(port, conn)
		return
	}
	source := internetSource
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		source = a.AddrPort().Addr().Unmap()
	}
	to, err := p.dialLocal(p.c.f.ctx, t, netip.AddrPortFrom(p.origin.IP, port), source)
	if err != nil {
		return
	}
	p.c.f.proxy(conn, to)
}

// dial makes a connection to an ingress address through this node.
func (p *Proxy) dial(ctx context.Context, to netip.AddrPort, source netip.Addr) (net.Conn, error) {
	t, ok := p.rules().virtual[to]
	if !ok {
		return nil, refusedError(to, "no service of the cluster has that address")
	}
	return p.dialLocal(ctx, t, to, source)
}

func (p *Proxy) dialLocal(ctx context.Context, t target, to netip.AddrPort, source netip.Addr) (net.Conn, error) {
	from, node := p.origin, ""
	if t.service.Local {
		node = p.node
	}
	e, ok := p.c.choose(t, source, node)
	if !ok {
		return nil, refusedError(to, fmt.Sprintf("service %s has no ready endpoint for node %s", t, p.node))
	}
	p.c.mu.Lock()
	q := p.c.pods[e.Addr.Addr()]
	p.c.mu.Unlock()
	if q != nil {
		if !t.service.Local {
			source = from.IP // masqueraded
		}
		return p.c.dialPod(q, source, e.Addr)
	}
	from.Cluster = ""
	return p.c.f.dial(ctx, from, "tcp", e.Addr)
}

// answerHealth answers /healthz of the proxy, or the health check of a service with
// externalTrafficPolicy Local: 200 if the node has an endpoint, otherwise 503.
func (p *Proxy) answerHealth(port uint16, conn net.Conn) {
	status := http.StatusOK
	if port != healthzPort {
		status = http.StatusServiceUnavailable
		for _, s := range p.rules().services {
			if s.HealthCheckNodePort == port && s.onNode(p.node) {
				status = http.StatusOK
			}
		}
	}
	buf := make([]byte, 4096)
	if _, err := conn.Read(buf); err != nil {
		return
	}
	io.WriteString(conn, fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: 3\r\n"+
		"Connection: close\r\n\r\n{}\n", status, http.StatusText(status)))
}

func (s *Service) onNode(node string) bool {
	return slices.ContainsFunc(s.Ports, func(p ServicePort) bool {
		return slices.ContainsFunc(p.Endpoints, func(e Endpoint) bool { return e.Node == node && !e.Terminating })
	})
}

func (c *Cluster) proxyAt(at place) *Proxy {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proxies[at]
}
