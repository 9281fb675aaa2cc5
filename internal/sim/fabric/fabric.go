package fabric

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// Config configures a fabric.
type Config struct {
	// Dir stores the address mapping across restarts; it is created if missing.
	Dir string
	// Log receives changes of health and of listeners; nil discards them.
	Log *slog.Logger
	// Probe is the interval at which an unhealthy backend is probed; zero means 250 ms. A healthy
	// backend is probed at 40 times this interval. The intervals of the load balancers' own probes
	// are meant for a data centre and are ignored; their thresholds are used.
	Probe time.Duration
	// Settle is the time for which a machine must answer before it gets traffic. On Azure it is up
	// to an interval of the probe, 15 s for an API server; programs rely on kubeadm having finished
	// its first writes by then.
	Settle time.Duration
	// External dials addresses that belong to no machine, frontend, pod or service: the metadata
	// service, the cloud's API. With nil they are refused.
	External func(ctx context.Context, from Origin, network, address string) (net.Conn, error)
	// Sockets is the number of ports of machines that are sockets of the host, to which programs of
	// the host can connect; 0 means no limit. Further ports can be reached only through the fabric.
	Sockets int
	// Listen opens a TCP listener; nil means net.Listen. Tests use it to deny ports.
	Listen func(address string) (net.Listener, error)
}

// Origin is the start of a connection. The zero Origin is the host, which counts as the Internet.
type Origin struct {
	// VNetID is the ARM ID of the virtual network and IP the address there.
	VNetID string
	IP     netip.Addr
	// Cluster is the key of the Kubernetes cluster whose pods and services the origin can reach; ""
	// means none.
	Cluster string
}

func (o Origin) host() bool { return o.VNetID == "" }

// Fabric forwards the connections of one local plane. Its methods may be called
// concurrently.
type Fabric struct {
	c      Config
	log    *slog.Logger
	addr   *addresses
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	ix       *index
	bindings map[string]*binding // by rule ID and address
	probes   map[probeKey]*prober
	owned    map[*openListener]struct{}
	ports    map[netip.AddrPort]*openListener // by the requested address and port
	sockets  int                              // the number of owned listeners that belong to machines
	clusters map[string]*Cluster
	conns    map[net.Conn]struct{}
}

// New returns a Fabric that keeps the addresses of an earlier run in the same directory. It fails
// if another process on the host has claimed one of them.
func New(c Config) (*Fabric, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the fabric's directory: %w", err)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Probe == 0 {
		c.Probe = 250 * time.Millisecond
	}
	if c.Listen == nil {
		c.Listen = func(address string) (net.Listener, error) { return net.Listen("tcp4", address) }
	}
	addr, err := openAddresses(c.Dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Fabric{
		c: c, log: c.Log, addr: addr, ctx: ctx, cancel: cancel,
		ix:       newIndex(Model{}),
		bindings: map[string]*binding{},
		probes:   map[probeKey]*prober{},
		owned:    map[*openListener]struct{}{},
		ports:    map[netip.AddrPort]*openListener{},
		clusters: map[string]*Cluster{},
		conns:    map[net.Conn]struct{}{},
	}, nil
}

// Close ends every listener, connection and probe and releases the claims. The stored mapping
// remains.
func (f *Fabric) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	f.cancel()
	for l := range f.owned {
		l.Listener.Close()
	}
	for c := range f.conns {
		c.Close()
	}
	f.mu.Unlock()
	f.wg.Wait()
	return f.addr.close()
}

// Loopback returns the loopback address of ip in the virtual network with that ARM ID: its last two
// digits are those of ip. Calls with the same arguments return the same address until Release, or
// until a Sync with a model that has no interface or frontend with ip.
func (f *Fabric) Loopback(vnetID string, ip netip.Addr) (netip.Addr, error) {
	return f.addr.vnet(vnetID, ip)
}

// Release releases the loopback address of ip.
func (f *Fabric) Release(vnetID string, ip netip.Addr) error {
	return f.addr.release(vnetKey(vnetID, ip))
}

// PublicIP returns the address of the public IP resource with an ARM ID, in 127.20.0.0/16. The
// address stays the same until a Sync with a model without the resource.
func (f *Fabric) PublicIP(id string) (string, error) {
	a, err := f.addr.public(id)
	if err != nil {
		return "", err
	}
	return a.String(), nil
}

// track records a connection so that Close ends it; it returns false after Close.
func (f *Fabric) track(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		c.Close()
		return false
	}
	f.conns[c] = struct{}{}
	return true
}

func (f *Fabric) untrack(c net.Conn) {
	c.Close()
	f.mu.Lock()
	delete(f.conns, c)
	f.mu.Unlock()
}

// spawn runs fn in a goroutine, for which Close waits. After Close it does nothing and returns
// false.
func (f *Fabric) spawn(fn func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spawnLocked(fn)
}

func (f *Fabric) spawnLocked(fn func()) bool {
	if f.closed {
		return false
	}
	f.wg.Go(fn)
	return true
}

var errClosed = errors.New("the fabric is closed")

// fold returns an ARM ID in lower case, so that IDs can be compared.
func fold(id string) string { return strings.ToLower(id) }
