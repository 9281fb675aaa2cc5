package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/guestfs"
)

// podPool allocates pod addresses in clusters whose controller manager allocates no ranges to
// nodes, as with Calico's own address management. It simulates Calico's default pool, of which
// nodes get blocks. Source:
// https://docs.tigera.io/calico/latest/networking/ipam/get-started-ip-addresses.
type podPool struct {
	mu     sync.Mutex
	used   map[netip.Addr]bool
	blocks map[netip.Prefix]string // by block, the node that has it
}

var podRange = netip.MustParsePrefix("192.168.0.0/16")

// blockBits is the length of a block's prefix. Windows reserves the first three addresses and the
// last address of a block.
const blockBits, firstOfBlock, lastOfBlock = 26, 3, 62

// Allocate implements kubelet.PodIPs: it returns an address of the node's blocks, or of a new
// block.
func (p *podPool) Allocate(_ context.Context, node, _, _ string) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, owner := range []string{node, ""} {
		for block := netip.PrefixFrom(podRange.Addr(), blockBits); podRange.Contains(block.Addr()); block = nextBlock(block) {
			if p.blocks[block] != owner {
				continue
			}
			if ip, ok := p.freeIn(block); ok {
				p.used[ip], p.blocks[block] = true, node
				return ip, nil
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("no free pod address in %s", podRange)
}

// freeIn returns the first free address of a block.
func (p *podPool) freeIn(block netip.Prefix) (netip.Addr, bool) {
	b := block.Addr().As4()
	for i := range byte(lastOfBlock - firstOfBlock + 1) {
		if ip := netip.AddrFrom4([4]byte{b[0], b[1], b[2], b[3] + firstOfBlock + i}); !p.used[ip] {
			return ip, true
		}
	}
	return netip.Addr{}, false
}

func nextBlock(block netip.Prefix) netip.Prefix {
	b := block.Addr().As4()
	n := binary.BigEndian.Uint32(b[:]) + 1<<(32-blockBits)
	binary.BigEndian.PutUint32(b[:], n)
	return netip.PrefixFrom(netip.AddrFrom4(b), blockBits)
}

// of returns the blocks of a node.
func (p *podPool) of(node string) []netip.Prefix {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []netip.Prefix
	for block, owner := range p.blocks {
		if owner == node {
			out = append(out, block)
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return out
}

// Release implements kubelet.PodIPs.
func (p *podPool) Release(_ string, ip netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, ip)
}

// Keep implements kubelet.PodIPs.
func (p *podPool) Keep(node string, ip netip.Addr) {
	if !podRange.Contains(ip) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[ip] = true
	if block := netip.PrefixFrom(ip, blockBits).Masked(); p.blocks[block] == "" {
		p.blocks[block] = node
	}
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

// Keep implements kubelet.PodIPs.
func (p *nodePodIPs) Keep(node string, ip netip.Addr) {
	if !slices.Contains(p.own, ip) {
		p.pool.Keep(node, ip)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[ip] = true
}
