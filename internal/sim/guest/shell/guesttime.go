package shell

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// defaultSpeed is the number of seconds of a guest's waits that pass in one real second: slow enough that a waiting
// loop does not use a whole processor, and fast enough that no test waits for minutes.
const defaultSpeed = 20

var errTimeout = errors.New("the time is over")

// real returns the real duration of a wait of the guest.
func (s *Shell) real(d time.Duration) time.Duration { return time.Duration(float64(d) / s.speed) }

// pause waits in the guest's time: the time by which the wait was shortened is added to the clock that the script
// sees. It returns the exit code of the wait.
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

// skippedTime returns the counter of the time that the waits of a script skipped, or nil outside of scripts.
func skippedTime(ctx context.Context) *atomic.Int64 {
	if l, some := ctx.Value(limitsKey{}).(limits); some {
		return &l.used.skipped
	}
	return nil
}

// now returns the guest's time as the process sees it.
func (p *Process) now() time.Time {
	now := p.Guest.Clock.Now()
	if p.skipped != nil {
		now = now.Add(time.Duration(p.skipped.Load()))
	}
	return now
}
