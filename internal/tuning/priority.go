package tuning

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// background is the priority of a busy controller manager, a tenth of the weight of other programs (setpriority(2)).
// With hundreds of nodes, its controllers process all of them at each change of one. A delayed pass serves all changes
// until it begins, so that there are fewer passes. In a small cluster, where nodes wait for it, a controller manager is
// not busy and keeps its priority.
const background = 10

// yields is the environment variable for a program that gets the priority background when it is busy.
const yields = "CASEMENT_YIELD"

// busy is the part of a processor whose use makes a program busy.
const busy = 0.2

// followBusy sets this process's priority to background when the process has been busy for a period. The priority
// stays, because a process without privileges cannot raise it again. followBusy sets it again at the end of each later
// period, for the threads that yield missed.
func followBusy() {
	if os.Getenv(yields) == "" {
		return
	}
	os.Unsetenv(yields)
	go func() {
		before, wasBusy := processorTime(), false
		for range time.Tick(period) {
			now := processorTime()
			wasBusy = wasBusy || isBusy(now-before)
			if wasBusy {
				_ = yield() // without it, the program only costs more
			}
			before = now
		}
	}()
}

// isBusy reports whether a process with this processor time in a period is busy.
func isBusy(used time.Duration) bool { return used.Seconds() > busy*period.Seconds() }

// yield sets the priority of all threads of this process's group to background. A program of a plane is alone in its
// group. The system call misses a thread that is just being started: it has its parent's previous priority, and is not
// in the group yet.
func yield() error { return unix.Setpriority(unix.PRIO_PGRP, 0, background) }

// processorTime returns the processor time that this process has used, or 0 if it is not known.
func processorTime() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
