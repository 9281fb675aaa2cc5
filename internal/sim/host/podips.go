package host

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"sync"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/guestfs"
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

// nodePodIPs allocates the addresses of one node's pods: with Azure's CNI from the
// secondary addresses of its interfaces, otherwise from the cluster's pool.
type nodePodIPs struct {
	pool  *podPool
	own   []netip.Addr
	files *guestfs.Root

	mu   sync.Mutex
	used map[netip.Addr]bool
}

func newNodePodIPs(pool *podPool, vm host.VM, files *guestfs.Root) *nodePodIPs {
	p := &nodePodIPs{pool: pool, files: files, used: map[netip.Addr]bool{}}
	for i, nic := range vm.NICs {
		for j, text := range nic.PrivateIPs {
			if ip, err := netip.ParseAddr(text); err == nil && ip.Is4() && i+j > 0 {
				p.own = append(p.own, ip)
			}
		}
	}
	return p
}

// azureCNI reports whether the node's CNI is azure-vnet.
func (p *nodePodIPs) azureCNI() bool {
	data, err := p.files.ReadFile("/etc/cni/net.d/10-azure.conflist")
	return err == nil && bytes.Contains(data, []byte(`"azure-vnet"`))
}

// Allocate implements kubelet.PodIPs.
func (p *nodePodIPs) Allocate(ctx context.Context, node, namespace, name string) (netip.Addr, error) {
	if !p.azureCNI() {
		return p.pool.Allocate(ctx, node, namespace, name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ip := range p.own {
		if !p.used[ip] {
			p.used[ip] = true
			return ip, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("plugin type=%q failed (add): failed to allocate pool: no available "+
		"addresses: the interfaces of node %s have %d beside the first one", "azure-vnet", node, len(p.own))
}

// Release implements kubelet.PodIPs.
func (p *nodePodIPs) Release(node string, ip netip.Addr) {
	p.mu.Lock()
	own := p.used[ip]
	delete(p.used, ip)
	p.mu.Unlock()
	if !own {
		p.pool.Release(node, ip)
	}
}
