package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/allowance"
)

// Each processor of this machine serves seatsPerCore guests that boot and join at the same time, and beside them
// controlPlanesPerCore machines of control planes, which the others wait for: such a machine starts etcd, an API
// server, a controller manager and a scheduler. A guest that is not ready after its time waits for something else,
// such as an API server that does not answer, and gives its seat up. On a busy machine the time is longer: guests that
// only take their time would be joined by more and more others until none becomes ready.
const (
	seatsPerCore         = 16
	seatTime             = 20 * time.Second
	controlPlanesPerCore = 2
	controlPlaneTime     = time.Minute
)

// seats bound the guests that boot and join their clusters at the same time. A thousand at
// once take the time of a thousand, but each is slow: requests run into their time limits and are
// made again, and the cost of a node grows with the number of all.
type seats struct {
	workers, controlPlanes row
}

// row are the seats of one kind of guests.
type row struct {
	taken chan struct{}
	// limit is for how long a guest may have one on an idle machine.
	limit time.Duration
	// what says what the guests do that have one.
	what string
}

func newSeats(cores int) seats {
	return seats{
		workers:       row{make(chan struct{}, seatsPerCore*cores), seatTime, "guests join"},
		controlPlanes: row{make(chan struct{}, controlPlanesPerCore*cores), controlPlaneTime, "machines of control planes start"},
	}
}

// of returns the seats for a VM.
func (s seats) of(vm host.VM) row {
	if ofControlPlane(vm) {
		return s.controlPlanes
	}
	return s.workers
}

// wait describes why a guest waits for a seat.
func (r row) wait() string {
	return fmt.Sprintf("it waits for its turn: %d %s at the same time on this machine", cap(r.taken), r.what)
}

// take waits for a seat. The seat is given up by leave, or when its time is over. A machine of a control plane of an
// earlier run needs none: those start a few at a time as it is, and may need each other.
func (s seats) take(ctx context.Context, g *machine) (leave func(), err error) {
	if g.turn != nil && ofControlPlane(g.vm) {
		return func() {}, nil
	}
	r := s.of(g.vm)
	g.queued.Store(true)
	defer g.queued.Store(false)
	select {
	case r.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	held, leave := context.WithCancel(ctx)
	go func() {
		defer func() { <-r.taken }()
		defer leave()
		for limit := allowance.New(r.limit); limit.Wait(held, time.Second); {
		}
	}()
	return leave, nil
}

// ofControlPlane reports whether a VM is a machine of a control plane, by the tag that its provider
// marks it with.
func ofControlPlane(vm host.VM) bool {
	return strings.EqualFold(vm.Tags["sigs.k8s.io_cluster-api-provider-azure_role"], "control-plane")
}
