package local

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
)

// podPool gives pod addresses in clusters whose controller manager allocates no
// ranges to nodes, as with Calico's own address management. It is Calico's
// default pool.
type podPool struct {
	mu   sync.Mutex
	used map[netip.Addr]bool
}

var podRange = netip.MustParsePrefix("192.168.0.0/16")

// Allocate implements kubelet.PodIPs.
func (p *podPool) Allocate(_ context.Context, _, _, _ string) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ip := podRange.Addr().Next(); podRange.Contains(ip.Next()); ip = ip.Next() {
		if !p.used[ip] {
			p.used[ip] = true
			return ip, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no free pod address in %s", podRange)
}

// Release implements kubelet.PodIPs.
func (p *podPool) Release(_ string, ip netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, ip)
}
