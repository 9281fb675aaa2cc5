package host

import (
	"context"
	"errors"
	"runtime"
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
			s := newSeats(1, 20000, 2500)
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
			leaves[0]() // a second call has no effect
			if _, err := s.take(t.Context(), c.one); err != nil {
				t.Fatal(err)
			}
			if len(all) != cap(all) {
				t.Errorf("%d seats are taken, want %d", len(all), cap(all))
			}
			if got := s.of(c.one.vm).why; got != c.waits {
				t.Errorf("%q, want %q", got, c.waits)
			}
		})
	}
}

// TestRunningSeats checks that running guests do not open more files than this process may.
func TestRunningSeats(t *testing.T) {
	for name, c := range map[string]struct {
		files   uint64
		sockets int
		guests  int
		why     string
	}{
		"few files": {files: 1024, sockets: 128, guests: 16},
		"none":      {files: 0, guests: 16},
		"unlimited": {files: 1<<64 - 1, guests: 1 << 24 / 3},
		"a thousand nodes": {files: 4500, sockets: 500, guests: 1000, why: "it waits for another guest to end: the local plane " +
			"may open 4500 files, enough for 1000 guests; raise the limit (ulimit -n) and start the plane again for more"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeats(1, c.files, c.sockets)
			if got := cap(s.running.taken); got != c.guests {
				t.Errorf("%d guests, want %d", got, c.guests)
			}
			if c.why == "" {
				return
			}
			for range c.guests {
				if err := s.running.wait(t.Context(), &machine{}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			g, ended := &machine{}, make(chan error)
			go func() { ended <- s.running.wait(ctx, g) }()
			for g.waits.Load() == nil {
				runtime.Gosched()
			}
			if got := *g.waits.Load(); got != c.why {
				t.Errorf("%q, want %q", got, c.why)
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("a guest that was stopped got a seat: %v", err)
			}
			s.running.free()
			if err := s.running.wait(t.Context(), g); err != nil || g.waits.Load() != nil {
				t.Errorf("a guest got no seat: %v", err)
			}
		})
	}
}
