package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"casement.dev/casement/azuresim/host"
)

// TestResume: control planes of an earlier run start first, and no more guests boot concurrently than the
// limit allows.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	m := testHost(dir)
	var mu sync.Mutex
	var order []string
	running, most := 0, 0
	const workers, controlPlanes = 7, 2
	for i := range workers + controlPlanes {
		name := fmt.Sprintf("a-worker-%d", i)
		if i >= workers {
			name = fmt.Sprintf("z-control-%d", i)
			writeFile(t, filepath.Join(dir, "vms/g", name, "rootfs/etc/kubernetes/manifests/kube-apiserver.yaml"), "{}")
		}
		g := &machine{vm: host.VM{
			ID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/" + name,
		}, turn: newTurn(), done: make(chan struct{})}
		m.waiting = append(m.waiting, g)
		m.work.Go(func() {
			defer close(g.done)
			g.turn.await(t.Context())
			mu.Lock()
			order = append(order, name)
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Millisecond) // so that others could start at the same time
			mu.Lock()
			running--
			mu.Unlock()
			g.booted()
		})
	}
	m.Resume(t.Context(), func(int, int) {})
	m.work.Wait()
	slices.Sort(order[:controlPlanes])
	if !slices.Equal(order[:controlPlanes], []string{"z-control-7", "z-control-8"}) || len(order) != workers+controlPlanes {
		t.Errorf("they started in the order %v", order)
	}
	if most > atOnce() {
		t.Errorf("%d started at once, of at most %d", most, atOnce())
	}
}

// TestResumePassesAHangingBoot: a guest whose boot hangs, because it joins a machine that has not started,
// does not block the others.
func TestResumePassesAHangingBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testHost(t.TempDir())
		for i := range atOnce() + 1 {
			m.waiting = append(m.waiting, &machine{vm: host.VM{ID: fmt.Sprint("/", i)}, turn: newTurn(), done: make(chan struct{})})
		}
		last := m.waiting[atOnce()]
		begun := time.Now()
		m.Resume(t.Context(), func(int, int) {})
		if !last.turn.await(t.Context()) || time.Since(begun) != resumeTurn {
			t.Errorf("the last one started after %s", time.Since(begun))
		}
		last.booted()
		m.work.Wait()
	})
}

func TestExhausted(t *testing.T) {
	for err, want := range map[error]bool{syscall.EMFILE: true, fmt.Errorf("open x: %w", syscall.ENOSPC): true,
		errors.New("bad custom data"): false, syscall.ENOENT: false} {
		if got := exhausted(err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}
