package host

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/azuresim/host"
)

// Each processor of this machine serves seatsPerCore guests that boot and join at the same time. One
// that is not ready after seatTime waits for something else, such as an API server that does not
// answer, and gives its seat up.
const (
	seatsPerCore = 16
	seatTime     = 20 * time.Second
)

// seats bounds the guests that boot and join their clusters at the same time. A thousand at
// once take the time of a thousand, but each is slow: requests run into their time limits and are
// made again, and the cost of a node grows with the number of all.
type seats chan struct{}

func newSeats() seats { return make(seats, seatsPerCore*runtime.NumCPU()) }

// take waits for a seat. The seat is given up by leave or after seatTime. A machine of a control plane
// needs none, as the others wait for it.
func (s seats) take(ctx context.Context, g *machine) (leave func(), err error) {
	if ofControlPlane(g.vm) {
		return func() {}, nil
	}
	g.queued.Store(true)
	defer g.queued.Store(false)
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	free := sync.OnceFunc(func() { <-s })
	limit := time.AfterFunc(seatTime, free)
	return func() {
		limit.Stop()
		free()
	}, nil
}

// ofControlPlane reports whether a VM is a machine of a control plane, by the tag that its provider
// marks it with.
func ofControlPlane(vm host.VM) bool {
	return strings.EqualFold(vm.Tags["sigs.k8s.io_cluster-api-provider-azure_role"], "control-plane")
}
