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

// Each processor of this computer allows seatsPerCore guests to boot and join at the same time, and
// also controlPlanesPerCore machines of control planes, on which the other guests wait: such a
// machine starts etcd, an API server, a controller manager and a scheduler. A guest that is not
// ready after seatTime waits for something else, such as an API server that does not answer, and
// loses its seat. On a busy computer the time is longer, because otherwise more and more guests
// would join the slow ones until none becomes ready.
const (
	seatsPerCore         = 16
	seatTime             = 20 * time.Second
	controlPlanesPerCore = 2
	controlPlaneTime     = time.Minute
)

// seats limit the number of guests that boot and join their clusters at the same time. Without a
// limit, each of a thousand guests is slow: requests exceed their time limits and are repeated, so
// that the cost of a node grows with the number of nodes.
type seats struct {
	workers, controlPlanes row
	// running has one seat for each running guest, for as long as it runs.
	running row
}

// row is the set of seats for one kind of guests.
type row struct {
	taken chan struct{}
	// limit is the time for which a guest may keep a seat on an idle computer; 0 means no limit.
	limit time.Duration
	// why explains why a guest waits for a seat.
	why string
}

// A guest that is ready has filesPerGuest files open: its disk, its kubelet's connection, and
// sometimes a log. The sockets of its ports are counted separately (limit.Sockets). All other work
// of this process, and guests that are joining, use ownFiles.
const (
	filesPerGuest = 3
	ownFiles      = 1000
	leastGuests   = 16
)

// newSeats returns the seats for a computer with a number of processors, on which this process may
// open a number of files, of which sockets are for the ports of guests.
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

// of returns the row of seats for a VM.
func (s seats) of(vm host.VM) row {
	if ofControlPlane(vm) {
		return s.controlPlanes
	}
	return s.workers
}

// wait waits for a seat; free releases it.
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

// take waits for a seat for booting and joining. leave releases the seat, which also ends after the
// row's limit. A control plane machine of an earlier run needs no seat: only a few of them start at
// the same time, and they may need each other.
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

// ofControlPlane reports whether a VM is a control plane machine, by the tag that its provider
// sets.
func ofControlPlane(vm host.VM) bool {
	return strings.EqualFold(vm.Tags["sigs.k8s.io_cluster-api-provider-azure_role"], "control-plane")
}
