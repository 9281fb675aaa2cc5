package host

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestPodPool: each node has blocks of the pool of its own, as Calico's address management gives them to Windows.
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
	if a, b := fmt.Sprint(p.of("a")), fmt.Sprint(p.of("b")); a != "[192.168.0.0/26 192.168.0.128/26]" || b != "[192.168.0.64/26 192.168.0.192/26]" {
		t.Errorf("the blocks are %s and %s", a, b)
	}
}
