package process

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Slack is how late the timers of a plane's programs may be while the processor is idle. The kernel then
// serves all timers that are due within that time in one wake-up (prctl(2), PR_SET_TIMERSLACK), where each
// ticker of each work queue and cache would otherwise have its own. On a busy processor timers are late by
// a tick of the scheduler, some milliseconds. etcd warns about a heartbeat that is more than 100 ms late,
// so this is half of it.
const Slack = 50 * time.Millisecond

// setSlack gives the calling thread a timer slack, which programs that it starts inherit. A
// goroutine that calls it is locked to its thread.
func setSlack(slack time.Duration) error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
		return fmt.Errorf("set the timer slack: %w", err)
	}
	return nil
}

// WithSlack calls start, which starts a program, on a thread with Slack. Where the kernel
// does not know it, the program starts without.
func WithSlack(start func() error) error {
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_ = setSlack(Slack)
		failed <- start()
	}()
	return <-failed
}
