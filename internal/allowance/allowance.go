// Package allowance bounds a wait by the processor time that the machine gave to a process. On a machine with more
// runnable programs than processors, a second counts only in part, so that a wait does not fail because other programs
// ran instead.
//
// It is for waits for other processes of this machine; a wait for the network is bounded by attempts. It imports
// nothing of the project, and any package may import it.
package allowance

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// least is the smallest part of a second that counts: no wait is more than ten times as long as its limit.
const least = 0.1

// Allowance is a time limit that calls of Over and Wait use up. It is for one goroutine.
type Allowance struct {
	limit, spent time.Duration
	last, read   time.Time
	part         float64
	now          func() time.Time
	share        func() float64
}

// New returns an allowance; limit is the wait's limit on an idle machine.
func New(limit time.Duration) *Allowance {
	return &Allowance{limit: limit, now: time.Now, share: share}
}

// Over reports whether the allowance is used up. It counts the time since its last call, so a wait calls it at each check.
func (a *Allowance) Over() bool {
	now := a.now()
	if a.last.IsZero() {
		a.last = now
	}
	if now.Sub(a.read) > time.Second {
		a.read, a.part = now, min(max(a.share(), least), 1)
	}
	a.spent += time.Duration(float64(now.Sub(a.last)) * a.part)
	a.last = now
	return a.spent >= a.limit
}

// Wait pauses until the next check is due. It returns false if the allowance is used up or ctx has ended, so that there
// is no next check.
func (a *Allowance) Wait(ctx context.Context, pause time.Duration) bool {
	if a.Over() {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// share returns the part of a processor that each runnable program gets, estimated from the load of the last minute.
func share() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || load <= 0 {
		return 1
	}
	return float64(runtime.NumCPU()) / load
}
