package shell

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// defaultSpeed is how many seconds of a guest's waits pass in one real second: a
// waiting loop is no hot loop, and no test waits for minutes.
const defaultSpeed = 20

var errTimeout = errors.New("the time is over")

// real returns how long a wait of the guest lasts in real time.
func (s *Shell) real(d time.Duration) time.Duration { return time.Duration(float64(d) / s.speed) }

// pause waits in the guest's time: what the wait was shortened by is added to the
// clock that the script sees.
func pause(ctx context.Context, p *Process, d time.Duration) int {
	short := p.shell.real(d)
	select {
	case <-ctx.Done():
		return 143
	case <-p.Guest.Clock.After(short):
	}
	if skipped := skippedTime(ctx); skipped != nil {
		skipped.Add(int64(d - short))
	}
	return 0
}

// skippedTime returns the time that a run of scripts has slept through, or nil.
func skippedTime(ctx context.Context) *atomic.Int64 {
	if l, some := ctx.Value(limitsKey{}).(limits); some {
		return &l.used.skipped
	}
	return nil
}

// now returns the time that the guest's clock shows the process.
func (p *Process) now() time.Time {
	now := p.Guest.Clock.Now()
	if p.skipped != nil {
		now = now.Add(time.Duration(p.skipped.Load()))
	}
	return now
}
