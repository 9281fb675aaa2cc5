package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/allowance"
	"casement.dev/casement/internal/contain"
)

// Each processor of this machine serves seatsPerCore guests that boot and join at the same time, and also
// controlPlanesPerCore machines of control planes, on which the others wait: such a machine starts etcd, an
// API server, a controller manager and a scheduler. A guest that is not ready after seatTime is waiting for
// something else, such as an API server that does not answer, and gives its seat up. On a busy machine the
// time is longer: otherwise more and more guests would join the slow ones until none becomes ready.
const (
	seatsPerCore         = 16
	seatTime             = 20 * time.Second
	controlPlanesPerCore = 2
	controlPlaneTime     = time.Minute
)

// seats limit the guests that boot and join their clusters at the same time. Without a limit, each of a
// thousand guests is slow: requests run into their time limits and are repeated, and the cost of a node
// grows with the number of all.
type seats struct {
	workers, controlPlanes row
	// running has a seat for each guest that runs, for as long as it does.
	running row
}

// row are the seats of one kind of guests.
type row struct {
	taken chan struct{}
	// limit is for how long a guest may have one on an idle machine, where it is bounded.
	limit time.Duration
	// why describes why a guest waits for one.
	why string
}

// A guest that is ready has filesPerGuest files open: its disk, its kubelet's connection, and at times a
// log. Its ports have sockets of their own (limit.Sockets). All other work of this process, and guests that
// join, have ownFiles.
const (
	filesPerGuest = 3
	ownFiles      = 1000
	leastGuests   = 16
)

// newSeats returns the seats of a machine with a number of processors, where this process may open a number of files,
// sockets of them for the ports of guests.
func newSeats(cores int, files uint64, sockets int) seats {
	own := uint64(ownFiles + sockets)
	guests := int(min(max(files, own)-own, 1<<24)) / filesPerGuest
	running := max(guests, leastGuests)
	joining := func(n int, limit time.Duration, what string) row {
		return row{make(chan struct{}, n), limit, fmt.Sprintf("it waits for its turn: %d %s at the same time on this machine", n, what)}
	}
	return seats{
		workers:       joining(seatsPerCore*cores, seatTime, "guests join"),
		controlPlanes: joining(controlPlanesPerCore*cores, controlPlaneTime, "machines of control planes start"),
		running: row{taken: make(chan struct{}, running), why: fmt.Sprintf("it waits for another guest to end: the local plane may "+
			"open %d files, enough for %d guests; raise the limit (ulimit -n) and start the plane again for more", files, running)},
	}
}

// of returns the seats for a VM.
func (s seats) of(vm host.VM) row {
	if ofControlPlane(vm) {
		return s.controlPlanes
	}
	return s.workers
}

// wait waits for a seat, which free gives up.
func (r row) wait(ctx context.Context, g *machine) error {
	g.waits.Store(&r.why)
	defer g.waits.Store(nil)
	select {
	case r.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r row) free() { <-r.taken }

// take waits for a seat to boot and join. The seat is freed by leave, or when its time has passed. A
// machine of a control plane of an earlier run needs no seat: only a few of those start at a time anyway,
// and they may need each other.
func (s seats) take(ctx context.Context, g *machine) (leave func(), err error) {
	if g.turn != nil && ofControlPlane(g.vm) {
		return func() {}, nil
	}
	r := s.of(g.vm)
	if err := r.wait(ctx, g); err != nil {
		return nil, err
	}
	seated, leave := context.WithCancel(ctx)
	(*contain.Wall)(nil).Go(nil, "a seat", func() {
		defer r.free()
		defer leave()
		for limit := allowance.New(r.limit); limit.Wait(seated, time.Second); {
		}
	})
	return leave, nil
}

// ofControlPlane reports whether a VM is a machine of a control plane, by the tag that its provider
// marks it with.
func ofControlPlane(vm host.VM) bool {
	return strings.EqualFold(vm.Tags["sigs.k8s.io_cluster-api-provider-azure_role"], "control-plane")
}
