package process

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Slack is the maximum delay of the timers of a plane's programs while the processor is idle. The kernel then serves
// all timers that are due within that time in one wake-up (prctl(2), PR_SET_TIMERSLACK); otherwise each ticker of each
// work queue and cache would cause its own wake-up. On a busy processor timers are late by a tick of the scheduler,
// some milliseconds. etcd warns about a heartbeat that is more than 100 ms late, so the slack is half of that.
const Slack = 50 * time.Millisecond

// setSlack sets the timer slack of the calling thread, which programs that it starts inherit. The calling goroutine has
// to be locked to its thread.
func setSlack(slack time.Duration) error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
		return fmt.Errorf("set the timer slack: %w", err)
	}
	return nil
}

// WithSlack calls start, which starts a program, on a thread with Slack. If the kernel does not support it, the program
// starts without it.
func WithSlack(start func() error) error {
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_ = setSlack(Slack)
		failed <- start()
	}()
	return <-failed
}
