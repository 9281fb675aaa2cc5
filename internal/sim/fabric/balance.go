package fabric

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
)

// binding is a port of a frontend. Fabric.mu protects its fields.
type binding struct {
	key, what     string
	at            netip.AddrPort // address on this host
	frontend      netip.AddrPort // address as machines see it
	vnet          string         // for an internal frontend
	public, basic bool
	uncarried     bool // not TCP; reason explains it
	backends      []backend
	listener      *openListener // nil while no backend could answer
	reason        string        // why there is no listener
	healthy       int
	next          int
	losing        bool // no backend accepted the last connection
	conns         map[net.Conn]struct{}
}

// backend is a machine behind a binding.
type backend struct {
	at       place
	port     uint16
	probe    *probeKey
	floating bool
}

// Sync adapts the network to a model: addresses, listeners, probes and rules. It is level-triggered
// and may be called at any time; it does not touch unchanged parts.
func (f *Fabric) Sync(m Model) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.ix = newIndex(m)
	f.syncAddresses()
	want := f.plan()
	for key, b := range f.bindings {
		if want[key] == nil {
			b.closeLocked()
			delete(f.bindings, key)
		}
	}
	for key, w := range want {
		b := f.bindings[key]
		if b == nil {
			b = w
			f.bindings[key] = b
		}
		b.backends, b.what, b.basic = w.backends, w.what, w.basic
	}
	f.syncProbes()
	for _, b := range f.bindings {
		f.refresh(b)
	}
}

// syncAddresses assigns a loopback address to each new address of the model and releases the loopback
// addresses of removed ones.
func (f *Fabric) syncAddresses() {
	keys := map[string]bool{}
	claim := func(vnet string, ip netip.Addr) {
		if !ip.Is4() {
			return // not allocated yet, or IPv6, which is not carried
		}
		keys[vnetKey(vnet, ip)] = true
		if _, err := f.addr.vnet(vnet, ip); err != nil {
			f.log.Error("no loopback address", "vnet", vnet, "ip", ip, "error", err)
		}
	}
	for at := range f.ix.configs {
		claim(at.vnet, at.ip)
	}
	for _, fe := range f.ix.frontends {
		if fe.VNet != "" {
			claim(fe.VNet, fe.IP)
		}
	}
	for id, p := range f.ix.public {
		keys[publicKey(id)] = true
		if p.IP.IsLoopback() && !f.addr.hold(p.IP) {
			f.log.Error("a public address is taken on this host, probably by another local plane; nothing "+
				"listens on it here", "address", p.IP, "for", shortID(id))
			p.IP = netip.Addr{}
		}
	}
	if err := f.addr.sync(keys); err != nil {
		f.log.Error("keep the address mapping", "error", err)
	}
}

// plan returns the bindings that the model requires.
func (f *Fabric) plan() map[string]*binding {
	out := map[string]*binding{}
	for i := range f.ix.LoadBalancers {
		lb := &f.ix.LoadBalancers[i]
		for _, r := range lb.Rules {
			b := f.frontendBinding(r.ID, r.Frontend, r.FrontendPort, r.Protocol)
			if b == nil {
				continue
			}
			port := r.BackendPort
			if r.Floating {
				port = r.FrontendPort
			}
			for _, pool := range r.Pools {
				for _, at := range f.ix.pools[pool] {
					b.backends = append(b.backends, backend{at: at, port: port, probe: f.ix.probe(r.Probe, at), floating: r.Floating})
				}
			}
			out[b.key] = b
		}
		for _, r := range lb.NATRules {
			b := f.frontendBinding(r.ID, r.Frontend, r.FrontendPort, r.Protocol)
			if b == nil {
				continue
			}
			for _, at := range f.ix.natTargets(r) {
				b.backends = append(b.backends, backend{at: at, port: r.BackendPort})
			}
			out[b.key] = b
		}
	}
	f.planPublic(out)
	return out
}

// instancePorts are the ports that are carried for a public address of a machine: SSH and RDP.
var instancePorts = [...]uint16{22, 3389}

func (f *Fabric) planPublic(out map[string]*binding) {
	for at, c := range f.ix.configs {
		p := f.ix.public[c.PublicIP]
		if p == nil || !p.IP.IsLoopback() {
			continue
		}
		for _, port := range instancePorts {
			b := &binding{
				key: fmt.Sprintf("%s %s:%d", c.ID, p.IP, port), what: fmt.Sprintf("port %d of %s", port, shortID(c.ID)),
				at: netip.AddrPortFrom(p.IP, port), public: true, basic: p.Basic,
				backends: []backend{{at: at, port: port}},
			}
			b.frontend = b.at
			out[b.key] = b
		}
	}
}

// frontendBinding returns a binding without backends; nil if the frontend has no address yet.
func (f *Fabric) frontendBinding(id, frontend string, port uint16, protocol string) *binding {
	fe := f.ix.frontends[frontend]
	if fe == nil {
		return nil
	}
	b := &binding{what: shortID(id), vnet: fe.VNet}
	ip := fe.IP
	if fe.PublicIP != "" {
		p := f.ix.public[fe.PublicIP]
		if p == nil || !p.IP.IsLoopback() {
			return nil
		}
		b.at, b.public, b.basic, b.vnet, ip = netip.AddrPortFrom(p.IP, port), true, p.Basic, "", p.IP
	} else {
		at, err := f.addr.vnet(fe.VNet, fe.IP)
		if err != nil {
			return nil // logged by syncAddresses
		}
		b.at = netip.AddrPortFrom(at, port)
	}
	b.frontend = netip.AddrPortFrom(ip, port)
	b.key = id + " " + b.at.String() + "/" + protocol
	if protocol != "tcp" || port == 0 {
		b.uncarried = true
		b.reason = fmt.Sprintf("%s port %d is not carried: TCP ports alone are", protocol, port)
	}
	return b
}

func (ix *index) probe(id string, at place) *probeKey {
	p := ix.probes[id]
	if p == nil {
		return nil
	}
	return &probeKey{at: at, protocol: p.Protocol, path: p.Path, port: p.Port, threshold: p.Threshold}
}

func (ix *index) natTargets(r NATRule) []place {
	if c := ix.byConfig[r.Target]; c != nil {
		return []place{{c.VNet, c.IP}}
	}
	for at, c := range ix.configs {
		for _, id := range c.NATRules {
			if id == r.ID {
				return []place{at}
			}
		}
	}
	return nil
}

// shortID returns the "load-balancer/rule" part of an ARM ID.
func shortID(id string) string {
	parts := strings.Split(strings.Trim(id, "/"), "/")
	if len(parts) < 3 {
		return id
	}
	return parts[len(parts)-3] + "/" + parts[len(parts)-1]
}

// refresh opens a binding's listener if a backend could answer there, and closes it otherwise.
func (f *Fabric) refresh(b *binding) {
	usable, reason := f.usable(b, f.sourceFor(b))
	b.healthy = len(usable)
	if b.uncarried {
		return
	}
	b.reason = reason
	switch {
	case len(usable) == 0 && b.listener != nil:
		f.log.Info("frontend closes", "what", b.what, "address", b.at, "reason", reason)
		b.listener.closeLocked()
		b.listener = nil
	case len(usable) > 0 && b.listener == nil:
		l, err := f.openLocked(b.at, b.what, false)
		if err != nil {
			b.reason = err.Error()
			f.log.Error("frontend cannot listen", "what", b.what, "error", err)
			return
		}
		f.log.Info("frontend opens", "what", b.what, "address", l.Addr(), "backends", len(usable))
		b.listener = l
		f.spawnLocked(func() { f.accept(b, l) })
	}
}

// sourceFor returns the address from which the host reaches a frontend.
func (f *Fabric) sourceFor(b *binding) netip.Addr {
	if b.public {
		return internetSource
	}
	return b.frontend.Addr()
}

// usable returns the healthy backends that admit a flow from source. If there is none, it also
// returns the reason.
func (f *Fabric) usable(b *binding, source netip.Addr) ([]backend, string) {
	if len(b.backends) == 0 {
		return nil, "no machine is behind it"
	}
	var out []backend
	var reason string
	for _, m := range b.backends {
		flow := Flow{Protocol: "tcp", Source: source, Destination: m.at.ip, DestinationPort: m.port}
		if m.floating {
			flow.Destination = b.frontend.Addr()
		}
		if v := f.ix.inbound(m.at, flow, b.public, b.basic); !v.Allow {
			reason = "refused by " + v.String()
			continue
		}
		if m.probe != nil {
			if p := f.probes[*m.probe]; p == nil || !p.healthy {
				reason = "no healthy backend"
				if p != nil && p.last != "" {
					reason += ": " + p.last
				}
				continue
			}
		}
		out = append(out, m)
	}
	if len(out) > 0 {
		reason = ""
	}
	return out, reason
}

func (b *binding) closeLocked() {
	if b.listener != nil {
		b.listener.closeLocked()
		b.listener = nil
	}
	for c := range b.conns {
		c.Close()
	}
}

func (f *Fabric) accept(b *binding, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !f.spawn(func() { f.serve(b, c) }) {
			c.Close()
			return
		}
	}
}

// serve forwards one connection from the host.
func (f *Fabric) serve(b *binding, c net.Conn) {
	if !f.track(c) {
		return
	}
	defer f.untrack(c)
	f.mu.Lock()
	if b.conns == nil {
		b.conns = map[net.Conn]struct{}{}
	}
	b.conns[c] = struct{}{}
	source := f.sourceFor(b)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(b.conns, c)
		f.mu.Unlock()
	}()
	to, err := f.dialBinding(f.ctx, b, source)
	f.mu.Lock()
	before := b.losing
	b.losing = err != nil
	f.mu.Unlock()
	switch {
	case err == nil:
		f.proxy(c, to)
	case !before: // only the first connection of a series that no backend accepts is logged
		f.log.Warn("frontend loses a connection", "what", b.what, "address", b.at, "reason", err)
	}
}

// dialBinding connects to one of the usable backends, in turn. Azure tries only one backend for
// each connection: a connection to a machine that has stopped is lost until the machine's probe has
// failed. Floating rules, which services have, behave the same here. The rule of an API server
// tries the next machine instead, because a plane on a busy laptop probes less often than Azure.
func (f *Fabric) dialBinding(ctx context.Context, b *binding, source netip.Addr) (net.Conn, error) {
	f.mu.Lock()
	usable, reason := f.usable(b, source)
	start := b.next
	b.next++
	f.mu.Unlock()
	if len(usable) == 0 {
		return nil, refusedError(b.frontend, reason)
	}
	var errs []error
	for i := range usable {
		m := usable[(start+i)%len(usable)]
		var c net.Conn
		var err error
		if m.floating {
			c, err = f.dialFloating(ctx, m.at, b.frontend, source)
		} else {
			c, err = f.dialMachine(ctx, netip.Addr{}, m.at, "tcp", m.port)
		}
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
		f.suspect(m)
		if m.floating {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// suspect makes the prober of a backend probe immediately.
func (f *Fabric) suspect(m backend) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.probe == nil {
		return
	}
	if p := f.probes[*m.probe]; p != nil {
		p.now()
	}
}

// dialFloating connects to the frontend's own address on a machine: the machine's kube-proxy
// answers for it, or the connection is refused.
func (f *Fabric) dialFloating(ctx context.Context, at place, to netip.AddrPort, source netip.Addr) (net.Conn, error) {
	f.mu.Lock()
	var clusters []*Cluster
	for _, c := range f.clusters {
		clusters = append(clusters, c)
	}
	f.mu.Unlock()
	for _, c := range clusters {
		if p := c.proxyAt(at); p != nil {
			return p.dial(ctx, to, source)
		}
	}
	return nil, refusedError(to, "no kube-proxy runs on "+at.ip.String())
}

// proxy copies in both directions until both have ended, and closes to.
func (f *Fabric) proxy(c, to net.Conn) {
	if !f.track(to) {
		return
	}
	defer f.untrack(to)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pipe(to, c)
	}()
	pipe(c, to)
	<-done
}

// pipe copies from src to dst and then closes dst for writing; an error closes both.
func pipe(dst, src net.Conn) {
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		src.Close()
		return
	}
	if w, ok := dst.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
		return
	}
	dst.Close()
}
