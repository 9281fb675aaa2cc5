package host

import (
	"context"
	"errors"
	"testing"

	"casement.dev/casement/azuresim/host"
)

func TestSeats(t *testing.T) {
	worker := &machine{}
	controlPlane := &machine{vm: host.VM{Tags: map[string]string{"sigs.k8s.io_cluster-api-provider-azure_role": "control-plane"}}}
	for name, c := range map[string]struct {
		one, other *machine
		waits      string
	}{
		"workers": {worker, controlPlane, "it waits for its turn: 16 guests join at the same time on this machine"},
		"control planes": {
			controlPlane, worker, "it waits for its turn: 2 machines of control planes start at the same time on this machine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeats(1)
			all := s.of(c.one.vm).taken
			var leaves []func()
			for range cap(all) {
				leave, err := s.take(t.Context(), c.one)
				if err != nil {
					t.Fatal(err)
				}
				leaves = append(leaves, leave)
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.take(over, c.one); !errors.Is(err, context.Canceled) {
				t.Errorf("a guest that was stopped got a taken seat: %v", err)
			}
			leave, err := s.take(t.Context(), c.other)
			if err != nil {
				t.Fatalf("the other guests wait for it, and it got no seat: %v", err)
			}
			leave()
			leaves[0]()
			leaves[0]() // twice is once
			if _, err := s.take(t.Context(), c.one); err != nil {
				t.Fatal(err)
			}
			if len(all) != cap(all) {
				t.Errorf("%d seats are taken, want %d", len(all), cap(all))
			}
			if got := s.of(c.one.vm).wait(); got != c.waits {
				t.Errorf("%q, want %q", got, c.waits)
			}
		})
	}
}
