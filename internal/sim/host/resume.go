package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"casement.dev/casement/internal/guestfs"
)

// turn delays the start of a guest of an earlier run. A nil turn lets the guest start immediately.
type turn struct {
	begin, booted chan struct{}
	once          sync.Once
}

func newTurn() *turn { return &turn{begin: make(chan struct{}), booted: make(chan struct{})} }

// await waits for the turn; it returns false if ctx ends first.
func (t *turn) await(ctx context.Context) bool {
	if t == nil {
		return true
	}
	select {
	case <-t.begin:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *turn) waits() bool {
	if t == nil {
		return false
	}
	select {
	case <-t.begin:
		return false
	case <-t.booted:
		return false
	default:
		return true
	}
}

// booted records that the boot has ended, successfully or not, or will not happen.
func (g *machine) booted() {
	if g.turn != nil {
		g.turn.once.Do(func() { close(g.turn.booted) })
	}
}

// atOnce returns the number of guests of an earlier run that start at the same time.
func atOnce() int { return max(2, runtime.NumCPU()) }

// resumeTurn is the longest time for which a starting guest delays the next one, because an
// interrupted boot may itself wait for another machine.
const resumeTurn = 45 * time.Second

// Resume lets the guests of an earlier run start, control planes first, a few at the same time. It
// does not wait. progress gets the number of guests that have begun and the number of all.
func (h *Host) Resume(ctx context.Context, progress func(begun, all int)) {
	h.mu.Lock()
	waiting := h.waiting
	h.waiting = nil
	h.mu.Unlock()
	slices.SortStableFunc(waiting, func(a, b *machine) int {
		return cmp.Or(h.rank(a)-h.rank(b), cmp.Compare(machineKey(a.vm.ID), machineKey(b.vm.ID)))
	})
	if len(waiting) == 0 {
		return
	}
	h.wall.Go(&h.work, "the start of guests", func() {
		slots := make(chan struct{}, atOnce())
		for i, g := range waiting {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			case <-h.ctx.Done():
				return
			}
			close(g.turn.begin)
			progress(i+1, len(waiting))
			h.wall.Go(&h.work, "the start of guests", func() {
				defer func() { <-slots }()
				h.settle(g)
			})
		}
	})
}

// rank returns 0 for a machine whose disk contains a control plane, otherwise 1.
func (h *Host) rank(g *machine) int {
	if h.controlPlane(g) {
		return 0
	}
	return 1
}

func (h *Host) controlPlane(g *machine) bool {
	return guestfs.At(h.home(g.vm.ID)).Exists("rootfs/etc/kubernetes/manifests/kube-apiserver.yaml")
}

// settlePeriod is the interval at which settle tries to connect to the API server.
const settlePeriod = 100 * time.Millisecond

// settle waits until a guest has booted and its API server, if it has one, listens.
func (h *Host) settle(g *machine) {
	end := time.NewTimer(resumeTurn)
	defer end.Stop()
	select {
	case <-g.turn.booted:
	case <-end.C:
		return
	}
	if !h.controlPlane(g) {
		return
	}
	tick := time.NewTicker(settlePeriod)
	defer tick.Stop()
	for {
		h.mu.Lock()
		address := net.JoinHostPort(g.loopback.String(), "6443")
		h.mu.Unlock()
		if conn, err := net.DialTimeout("tcp", address, settlePeriod); err == nil {
			_ = conn.Close() // an accepted connection is enough
			return
		}
		select {
		case <-g.done:
			return
		case <-end.C:
			return
		case <-tick.C:
		}
	}
}

// Pauses before the next attempt to run a guest for which this computer lacked resources.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// runAgain runs a guest, and repeats it while the guest ends because a resource of this computer is
// exhausted.
func (h *Host) runAgain(ctx context.Context, g *machine) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		var err error
		if p := h.wall.Call("guest "+g.vm.Name, func() { err = h.run(ctx, g) }); p != nil {
			err = p
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		h.config.Log.Error(err, "a guest failed", "vm", g.vm.Name)
		again := exhausted(err)
		if again {
			err = fmt.Errorf("%w; this machine has run out of it, and the guest starts again in %s", err, pause)
		}
		h.mu.Lock()
		g.err = err
		h.mu.Unlock()
		if !again {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		h.mu.Lock()
		g.err = nil
		h.mu.Unlock()
	}
}

// exhaustion contains the errors for exhausted resources that may become available again.
var exhaustion = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EAGAIN}

// exhausted reports whether an error means that a resource of this computer is exhausted.
func exhausted(err error) bool {
	return slices.ContainsFunc(exhaustion, func(e error) bool { return errors.Is(err, e) })
}
