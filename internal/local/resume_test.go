package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"casement.dev/casement/azuresim/host"
)

// Guests of an earlier run start control planes first, and no more at once than there is
// room for.
func TestResume(t *testing.T) {
	dir := Dir(t.TempDir())
	m := newMachines(dir, logr.Discard())
	var mu sync.Mutex
	var order []string
	running, most := 0, 0
	const workers, controlPlanes = 7, 2
	for i := range workers + controlPlanes {
		name := fmt.Sprintf("a-worker-%d", i)
		if i >= workers {
			name = fmt.Sprintf("z-control-%d", i)
			write(t, dir, map[string]string{"vms/g/" + name + "/rootfs/etc/kubernetes/manifests/kube-apiserver.yaml": "{}"})
		}
		g := &machine{vm: host.VM{ID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/" + name}, turn: newTurn(), done: make(chan struct{})}
		m.held = append(m.held, g)
		m.work.Go(func() {
			defer close(g.done)
			g.turn.await(t.Context())
			mu.Lock()
			order = append(order, name)
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Millisecond) // so that others would start beside it
			mu.Lock()
			running--
			mu.Unlock()
			g.booted()
		})
	}
	m.resume(t.Context(), func(int, int) {})
	m.work.Wait()
	slices.Sort(order[:controlPlanes])
	if !slices.Equal(order[:controlPlanes], []string{"z-control-7", "z-control-8"}) || len(order) != workers+controlPlanes {
		t.Errorf("they started in the order %v", order)
	}
	if most > atOnce() {
		t.Errorf("%d started at once, of at most %d", most, atOnce())
	}
}

// A guest whose boot hangs, as one that joins a machine that has not started, does not
// hold the others up for good.
func TestResumePassesAHangingBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachines(Dir(t.TempDir()), logr.Discard())
		for i := range atOnce() + 1 {
			m.held = append(m.held, &machine{vm: host.VM{ID: fmt.Sprint("/", i)}, turn: newTurn(), done: make(chan struct{})})
		}
		last := m.held[atOnce()]
		begun := time.Now()
		m.resume(t.Context(), func(int, int) {})
		if !last.turn.await(t.Context()) || time.Since(begun) != resumeTurn {
			t.Errorf("the last one started after %s", time.Since(begun))
		}
		last.booted()
		m.work.Wait()
	})
}

func TestExhausted(t *testing.T) {
	for err, want := range map[error]bool{syscall.EMFILE: true, fmt.Errorf("open x: %w", syscall.ENOSPC): true, errors.New("bad custom data"): false, syscall.ENOENT: false} {
		if got := exhausted(err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

func TestRevive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conductor{opts: Options{Dir: Dir(t.TempDir())}, log: logr.Discard(), steps: []Step{{Name: "managers"}}}
		ctx, cancel := context.WithCancel(t.Context())
		runs, begun := 0, time.Now()
		c.revive(ctx, "managers", func(ctx context.Context) error {
			if runs++; runs <= 3 {
				return errors.New("too slow")
			}
			cancel()
			return ctx.Err()
		})
		if s := c.status(); runs != 4 || len(s.Restarts) != 1 || s.Restarts[0].Times != 3 || s.Restarts[0].Reason != "too slow" || s.Waiting == "" {
			t.Errorf("after %d runs the status says %+v, %q", runs, s.Restarts, s.Waiting)
		}
		if took := time.Since(begun); took != 7*time.Second {
			t.Errorf("the pauses are %s in all", took)
		}
	})
}
