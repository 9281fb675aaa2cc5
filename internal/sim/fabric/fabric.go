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
	// Probe is the interval at which an unhealthy backend is probed; 250 ms when
	// zero. A healthy one is probed at 40 times that. The intervals of the load
	// balancers' own probes are written for a data centre and are not used; their
	// thresholds are.
	Probe time.Duration
	// Settle is how long a machine answers before it gets traffic. On Azure this is
	// up to an interval of the probe, 15 s for an API server: programs rely on
	// kubeadm being done with its first writes by then.
	Settle time.Duration
	// External dials addresses that are no machine, frontend, pod or service: the metadata
	// service, the cloud's API. Nil refuses all of them.
	External func(ctx context.Context, from Origin, network, address string) (net.Conn, error)
	// Sockets is how many ports of machines are sockets of the host, to which its programs can connect; 0 is without
	// a bound. The fabric reaches the others by itself.
	Sockets int
	// Listen opens a TCP listener; nil is net.Listen. A test denies ports with it.
	Listen func(address string) (net.Listener, error)
}

// Origin is where a connection starts. The zero Origin is the host, which counts
// as the Internet.
type Origin struct {
	// VNetID is the ARM ID of the virtual network and IP the address there.
	VNetID string
	IP     netip.Addr
	// Cluster is the key of the Kubernetes cluster whose pods and services the
	// origin can reach; empty reaches none.
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
	sockets  int                              // the part of owned that belongs to machines
	clusters map[string]*Cluster
	conns    map[net.Conn]struct{}
}

// New makes a fabric and keeps the addresses of an earlier run in the same
// directory. It fails while another process of the host has one of them.
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

// Close ends every listener, connection and probe and gives the claims back. The
// mapping stays on disk.
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

// Loopback returns the loopback address of ip in the virtual network
// with that ARM ID: its last two digits are those of ip. The same question has the same
// answer until Release, or until a Sync no longer has an interface or frontend at it.
func (f *Fabric) Loopback(vnetID string, ip netip.Addr) (netip.Addr, error) {
	return f.addr.vnet(vnetID, ip)
}

// Release gives the loopback address of ip back.
func (f *Fabric) Release(vnetID string, ip netip.Addr) error {
	return f.addr.release(vnetKey(vnetID, ip))
}

// PublicIP returns the address of the public IP resource with that ARM ID, one of
// 127.20.0.0/16. It stays the same until a Sync no
// longer has the resource.
func (f *Fabric) PublicIP(id string) (string, error) {
	a, err := f.addr.public(id)
	if err != nil {
		return "", err
	}
	return a.String(), nil
}

// track remembers a connection so that Close ends it; after Close it refuses.
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

// spawn runs fn until it returns; Close waits for it. It reports false, and does
// not run fn, when the fabric is closed.
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

// fold lowers the case of an ARM ID, so that IDs can be compared.
func fold(id string) string { return strings.ToLower(id) }
