package kubelet

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// kept records the addresses that a kubelet reserves.
type kept []netip.Addr

func (*kept) Allocate(context.Context, string, string, string) (netip.Addr, error) {
	return netip.Addr{}, nil
}
func (*kept) Release(string, netip.Addr)     {}
func (k *kept) Keep(_ string, ip netip.Addr) { *k = append(*k, ip) }

// TestAddressesOfAnEarlierRun: the addresses of running pods, and only those, are reserved for
// them.
func TestAddressesOfAnEarlierRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		k := b.kubelet(t)
		var addresses kept
		k.c.PodIPs = &addresses
		stopped, stop := context.WithCancel(t.Context())
		stop()
		k.pods.ctx = stopped
		var list []any
		for ip, phase := range map[string]corev1.PodPhase{"10.244.1.2": corev1.PodRunning, "10.244.1.3": corev1.PodSucceeded} {
			pod := webPod(0)
			pod.UID += types.UID(phase)
			pod.Status.PodIP, pod.Status.Phase = ip, phase
			list = append(list, pod)
		}
		if err := k.pods.Replace(list, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !slices.Equal(addresses, kept{netip.MustParseAddr("10.244.1.2")}) {
			t.Errorf("it keeps %v", addresses)
		}
		b.runtime.Close()
	})
}
