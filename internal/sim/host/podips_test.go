package host

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestPodPool: each node has its own blocks of the pool, as in Calico's address management for
// Windows.
func TestPodPool(t *testing.T) {
	p := &podPool{used: map[netip.Addr]bool{}, blocks: map[netip.Prefix]string{}}
	const full = lastOfBlock - firstOfBlock + 1
	for i := range full + 1 {
		for _, node := range []string{"a", "b"} {
			ip, err := p.Allocate(t.Context(), node, "default", fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				p.Release(node, ip)
				if again, _ := p.Allocate(t.Context(), node, "default", "again"); again != ip {
					t.Errorf("a free address of %s is %s, not %s", node, again, ip)
				}
			}
		}
	}
	if a, b := fmt.Sprint(p.of("a")), fmt.Sprint(p.of("b")); a != "[192.168.0.0/26 192.168.0.128/26]" ||
		b != "[192.168.0.64/26 192.168.0.192/26]" {
		t.Errorf("the blocks are %s and %s", a, b)
	}
}

// TestPodPoolAfterRestart: the address of a pod of an earlier run is not allocated again, and its
// block belongs to its node.
func TestPodPoolAfterRestart(t *testing.T) {
	p := &podPool{used: map[netip.Addr]bool{}, blocks: map[netip.Prefix]string{}}
	kept := netip.MustParseAddr("192.168.0.3")
	p.Keep("a", kept)
	p.Keep("a", netip.MustParseAddr("10.1.0.9")) // an address of the virtual network
	for _, node := range []string{"b", "a"} {
		if ip, err := p.Allocate(t.Context(), node, "default", "web"); err != nil || ip == kept {
			t.Errorf("a pod of %s got %s, %v", node, ip, err)
		}
	}
	if a, b := fmt.Sprint(p.of("a")), fmt.Sprint(p.of("b")); a != "[192.168.0.0/26]" || b != "[192.168.0.64/26]" {
		t.Errorf("the blocks are %s and %s", a, b)
	}
}
